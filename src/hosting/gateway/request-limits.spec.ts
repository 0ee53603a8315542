import { expect, it } from '@jest/globals';
import { RequestLimits } from './request-limits.js';

it('one address asks so much of one host a minute', () => {
  const limits = new RequestLimits(2);
  for (let n = 0; n < 2; n++) limits.open('203.0.113.5', 'docs')?.();
  expect(limits.open('203.0.113.5', 'docs')).toBeUndefined();
  expect(limits.open('203.0.113.5', 'notes')).toBeDefined();
  expect(limits.open('203.0.113.6', 'docs')).toBeDefined();
});

it('one address has so many open at once, and what was refused holds no place', () => {
  const limits = new RequestLimits(0);
  const ends = Array.from({ length: 256 }, (_, n) => limits.open('203.0.113.5', `host ${n}`));
  expect(ends).not.toContain(undefined);
  expect(limits.open('203.0.113.5', 'docs')).toBeUndefined();
  expect(limits.open('203.0.113.5', 'docs')).toBeUndefined();
  ends[0]?.();
  expect(limits.open('203.0.113.5', 'docs')).toBeDefined();
});

it('one host has so many open at once', () => {
  const limits = new RequestLimits(0);
  const addresses = Array.from({ length: 1001 }, (_, n) => `10.0.${n >> 8}.${n & 255}`);
  const opened = addresses.map(address => limits.open(address, 'docs') !== undefined);
  expect(opened.filter(Boolean)).toHaveLength(1000);
});

it('WebSockets have places of their own, and their handshakes are requests of the minute', () => {
  const limits = new RequestLimits(300);
  const sockets = Array.from({ length: 257 }, () => limits.openSocket('203.0.113.5', 'docs'));
  expect(sockets.filter(Boolean)).toHaveLength(256);
  const requests = Array.from({ length: 44 }, () => limits.open('203.0.113.5', 'docs'));
  expect(requests.filter(Boolean)).toHaveLength(43);
  sockets[0]?.();
  expect(limits.openSocket('203.0.113.5', 'notes')).toBeDefined();
});

it('what is open stays counted, however many others come and go', () => {
  const limits = new RequestLimits(0);
  const ends = Array.from({ length: 256 }, () => limits.open('203.0.113.5', 'docs'));
  for (let n = 0; n < 5_000; n++) limits.open(`10.0.${n >> 8}.${n & 255}`, `host ${n}`)?.();
  expect(limits.open('203.0.113.5', 'notes')).toBeUndefined();
  ends[0]?.();
  expect(limits.open('203.0.113.5', 'notes')).toBeDefined();
});

it('who is refused again and again is not looked at', () => {
  const limits = new RequestLimits(0);
  for (let n = 0; n < 600; n++) {
    expect(limits.isRefusedTooOften('203.0.113.5')).toBe(false);
    limits.refused('203.0.113.5');
  }
  expect(limits.isRefusedTooOften('203.0.113.5')).toBe(true);
  expect(limits.isRefusedTooOften('203.0.113.6')).toBe(false);
});
