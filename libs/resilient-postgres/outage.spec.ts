import { describe, expect, it } from '@jest/globals';
import { isDatabaseFull, isDeadlock, isOrphan, isOutage } from './outage.js';

const coded = (code: string, message = 'x') => Object.assign(new Error(message), { code });

describe('an outage', () => {
  it.each([
    ['a connection that was ended', coded('57P01')],
    ['a server that starts', coded('57P03')],
    ['too many connections', coded('53300')],
    ['a deadlock', coded('40P01')],
    ['nobody listening', coded('ECONNREFUSED')],
    ['a Unix socket that is missing', Object.assign(coded('ENOENT'), { syscall: 'connect' })],
    ['a connection that broke', new Error('Connection terminated unexpectedly')],
    ['a query that was not answered', new Error('Query read timeout')],
    ['a lock that was not to be had', coded('55P03')],
    ['connections that are all taken', new Error('timeout exceeded when trying to connect')],
    ['a cause further down', new Error('x', { cause: coded('ECONNRESET') })],
    ['one of several addresses', new AggregateError([coded('ECONNREFUSED')])],
  ])('is %s', (_, error) => expect(isOutage(error)).toBe(true));

  it.each([
    ['a constraint', coded('23505')],
    ['a mistake in a statement', coded('42601')],
    ['text that cannot be stored', coded('22P05')],
    ['a file that is missing', Object.assign(coded('ENOENT'), { syscall: 'open' })],
    ['a bug', new TypeError('x is not a function')],
    ['no error', undefined],
  ])('is not %s', (_, error) => expect(isOutage(error)).toBe(false));
});

it('tells a full disk of the database from other outages', () => {
  expect(isDatabaseFull(new Error('x', { cause: coded('53100') }))).toBe(true);
  expect(isDatabaseFull(coded('53300'))).toBe(false);
});

it('tells a row whose parent is gone from one that cannot be deleted', () => {
  const orphan = coded('23503', 'insert or update on table "chat" violates foreign key constraint "x"');
  expect(isOrphan(orphan)).toBe(true);
  expect(isOrphan(new Error('x', { cause: orphan }))).toBe(true);
  expect(
    isOrphan(coded('23503', 'update or delete on table "chat" violates foreign key constraint "x"')),
  ).toBe(false);
  expect(isOrphan(coded('23505'))).toBe(false);
});

it('tells a deadlock from other outages', () => {
  expect(isDeadlock(new Error('x', { cause: coded('40P01') }))).toBe(true);
  expect(isDeadlock(coded('55P03'))).toBe(false);
});
