// A short knock when a move is made; made here, so that no file is needed.

let context = null;

export function playSound(check) {
  try {
    context ??= new AudioContext();
    const [tone, level] = [context.createOscillator(), context.createGain()];
    tone.frequency.value = check ? 440 : 190;
    level.gain.setValueAtTime(0.15, context.currentTime);
    level.gain.exponentialRampToValueAtTime(0.001, context.currentTime + 0.09);
    tone.connect(level).connect(context.destination);
    tone.start();
    tone.stop(context.currentTime + 0.1);
  } catch {
    // A browser without sound plays on in silence.
  }
}
