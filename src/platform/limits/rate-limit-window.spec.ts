import { describe, expect, it } from '@jest/globals';
import { RateWindow, RateWindows } from './rate-limit-window.js';

const MINUTE = 60_000;
const take = (window: RateWindow, times: number, limit: number, elapsed = 0) =>
  Array.from({ length: times }, () => window.take(limit, elapsed)).filter(({ allowed }) => allowed).length;

describe('a window', () => {
  it('lets the limit through and no more, and does not count what it refuses', () => {
    const window = new RateWindow(0);
    expect(take(window, 15, 10)).toBe(10);
    expect(window.count).toBe(10);
  });

  it('counts the minute before by its share of the last 60 seconds', () => {
    expect(take(new RateWindow(10), 20, 10, 0)).toBe(0);
    expect(take(new RateWindow(10), 20, 10, 30)).toBe(5);
    expect(take(new RateWindow(10), 20, 10, 59.9)).toBe(9);
  });

  it('says truly when the next request is let through, in this minute', () => {
    const { allowed, seconds } = new RateWindow(10).take(10, 1);
    expect(allowed).toBe(false);
    expect(new RateWindow(10).take(10, 1 + seconds).allowed).toBe(true);
    expect(new RateWindow(10).take(10, 1 + seconds - 1.5).allowed).toBe(false);
  });

  it('says truly when the next request is let through, in the next minute', () => {
    const window = new RateWindow(0);
    take(window, 10, 10, 20);
    const { seconds } = window.take(10, 20);
    expect(new RateWindow(window.count).take(10, 20 + seconds - 60).allowed).toBe(true);
    expect(new RateWindow(window.count).take(10, 20 + seconds - 60 - 1.5).allowed).toBe(false);
  });

  it('learns what others did, without counting its own twice', () => {
    const window = new RateWindow(0);
    take(window, 3, 10);
    expect(window.startSharing()).toBe(3);
    take(window, 1, 10);
    window.shareSucceeded(7, 2);
    expect(window.count).toBe(8);
    expect(take(window, 5, 10, 30)).toBe(1);
  });

  it('keeps its own count when the exchange fails', () => {
    const window = new RateWindow(0);
    take(window, 3, 10);
    window.startSharing();
    window.shareFailed();
    expect([window.count, window.unshared]).toEqual([3, 3]);
  });
});

describe('windows', () => {
  it('carry a count into the next minute, and forget it in the one after', () => {
    const windows = new RateWindows(10);
    take(windows.at('a', 0), 5, 5);
    expect(take(windows.at('a', MINUTE), 1, 5)).toBe(0);
    expect(take(windows.at('a', 3 * MINUTE), 5, 5)).toBe(5);
  });

  it('forget the oldest caller when there are too many', () => {
    const windows = new RateWindows(2);
    const first = windows.at('a', 0);
    windows.at('b', 0);
    windows.at('c', 0);
    expect(windows.at('a', 0)).not.toBe(first);
  });
});
