import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { refusalOf } from './metrics.controller.js';

const TOKEN = 'a token of many characters';
const from = (remoteAddress: string, headers: Record<string, string> = {}) =>
  ({
    headers: { host: 'localhost:3000', ...headers },
    socket: { remoteAddress },
  }) as unknown as IncomingMessage;

describe('who may read the metrics', () => {
  it.each(['127.0.0.1', '127.8.0.1', '::1', '::ffff:127.0.0.1'])('is a program at %s', address => {
    for (const host of ['localhost', '127.0.0.1:9', '[::1]:3000', 'LOCALHOST:3000'])
      expect(refusalOf(from(address, { host }), undefined)).toBeUndefined();
  });

  it.each(['10.0.0.1', '192.168.1.1', '::2', '2001:db8::1', '::ffff:10.0.0.1', '', 'localhost'])(
    'is no program at %p',
    address => {
      expect(refusalOf(from(address), undefined)).toMatchObject({ status: 404 });
    },
  );

  it.each<Record<string, string>>([
    { 'x-forwarded-for': '127.0.0.1' },
    { forwarded: 'for=127.0.0.1' },
    { via: '1.1 proxy' },
    { 'x-real-ip': '10.0.0.1' },
    { 'x-forwarded-proto': 'https' },
    { host: 'atelier.example.com' },
    { host: 'localhost.example.com' },
    { host: '' },
  ])('is nobody behind a proxy of this machine: %j', headers => {
    expect(refusalOf(from('127.0.0.1', headers), undefined)).toMatchObject({
      status: 404,
    });
  });

  it('is whoever shows the token, where there is one, and nobody else', () => {
    const shown = (authorization: string) =>
      refusalOf(from('10.0.0.1', { authorization }), TOKEN.replaceAll(' ', '-'));
    expect(shown('Bearer a-token-of-many-characters')).toBeUndefined();
    for (const wrong of [
      '',
      'Bearer',
      'Bearer a-token',
      'Basic a-token-of-many-characters',
      'a-token-of-many-characters',
    ])
      expect(shown(wrong)).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect(refusalOf(from('127.0.0.1'), TOKEN)).toMatchObject({ status: 401 });
  });
});
