import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Config } from '../config/index.js';
import { KeyRing, open, rewrap, SecretDamaged, seal, VaultKeyMissing } from './key-ring.js';

const owner = { place: 'test', id: '0198c1de-0000-7000-8000-000000000001', organization_id: null };
const key = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const ringOf = (...keys: string[]) => KeyRing.open(Config.from({ VAULT_KEYS: keys.join(',') }), undefined);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'atelier-keys-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = () => path.join(folder, 'vault.keys');
const openFile = (usedKey?: string) => KeyRing.open(Config.from({ DATA_DIR: folder }), usedKey);

it('makes its file once, for its owner alone', () => {
  const ring = openFile();
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  const made = readFileSync(file(), 'utf8');
  expect(openFile(ring.first.id).ids).toEqual(ring.ids);
  expect(readFileSync(file(), 'utf8')).toBe(made);
  expect(readdirSync(folder)).toEqual(['vault.keys']);
});

it('never replaces a file that another process made meanwhile', () => {
  const first = openFile();
  first.file?.create();
  expect(openFile().ids).toEqual(first.ids);
});

it('makes no file where the database needs a key that is not here', () => {
  expect(() => openFile('3f9a1c07')).toThrow(VaultKeyMissing);
  expect(() => openFile('3f9a1c07')).toThrow(/"3f9a1c07".*has no keys.*VAULT_KEYS/);
  expect(readdirSync(folder)).toEqual([]);
});

it('wraps with the first key and opens with all of them', () => {
  const sealed = { ...owner, ...seal(ringOf(key('a', 1)), owner, 'text') };
  const both = ringOf(key('b', 2), key('a', 1));
  expect(open(both, sealed)).toBe('text');
  const rewrapped = { ...sealed, ...rewrap(both, sealed) };
  expect(rewrapped.key_id).toBe('b');
  expect(open(ringOf(key('b', 2)), rewrapped)).toBe('text');
  expect(() => open(ringOf(key('b', 2)), sealed)).toThrow(VaultKeyMissing);
});

it('tells a key of the same name that is another one', () => {
  const sealed = { ...owner, ...seal(ringOf(key('a', 1)), owner, 'text') };
  expect(() => open(ringOf(key('a', 2)), sealed)).toThrow(SecretDamaged);
});

it('finds a key that another process put first', () => {
  const [here, there] = [openFile(), openFile()];
  there.file?.addFirst();
  const [added] = there.reload();
  expect(here.find(String(added?.id)).id).toBe(added?.id);
  expect(here.ids).toHaveLength(2);
});

it.each([
  ['no key at all', ''],
  ['a key without a name', Buffer.alloc(32).toString('base64')],
  ['a short key', 'a:c2hvcnQ='],
  ['one name twice', `${key('a', 1)}\n${key('a', 2)}`],
])('refuses %s in the file, and repeats nothing of it', (_what, text) => {
  writeFileSync(file(), text);
  chmodSync(file(), 0o600);
  let message = '';
  try {
    openFile();
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toContain(file());
  expect(message).not.toMatch(/c2hvcnQ|AAAA|AQEB/);
});
