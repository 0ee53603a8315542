import { AttemptSignal } from './attempt-signal.js';

describe('the signal of an attempt', () => {
  it('is aborted with the reason of the first of the others that is, then or before', () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const follower = new AttemptSignal([one.signal, other.signal]);
    expect(follower.signal.aborted).toBe(false);
    other.abort('enough');
    one.abort('late');
    expect(follower.signal.reason).toBe('enough');
    expect(new AttemptSignal([other.signal, one.signal]).signal.reason).toBe('enough');
  });

  it('is aborted by itself, without the others', () => {
    const other = new AbortController();
    const follower = new AttemptSignal([other.signal]);
    follower.abort('a fault');
    expect(follower.signal.reason).toBe('a fault');
    expect(other.signal.aborted).toBe(false);
  });

  it('follows no longer once it is released', () => {
    const other = new AbortController();
    const follower = new AttemptSignal([other.signal]);
    follower.release();
    other.abort();
    expect(follower.signal.aborted).toBe(false);
  });
});
