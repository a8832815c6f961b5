"""Work that fans out: one interface, carried out on this machine or on a Ray cluster."""
