import { describe, expect, it } from '@jest/globals';
import { SecretMask } from './secret-mask.js';

const masked = (secrets: string[], ...pieces: string[]): string => {
  const mask = new SecretMask(secrets);
  return pieces.map(piece => mask.add(piece)).join('') + mask.end();
};

describe('SecretMask', () => {
  it('withholds a secret however its pieces come', () => {
    for (let at = 1; at < 10; at++) {
      const text = 'a:token-1234:b';
      expect(masked(['token-1234'], ...[text.slice(0, at), text.slice(at)])).toBe('a:***:b');
      expect(masked(['token-1234'], ...text)).toBe('a:***:b');
    }
  });

  it('gives at once what begins no secret, and at the end what was none', () => {
    const mask = new SecretMask(['token-1234']);
    expect([mask.add('begun\n'), mask.add('tok'), mask.add('yo\ntoken'), mask.end()]).toEqual([
      'begun\n',
      '',
      'tokyo\n',
      'token',
    ]);
  });

  it('withholds what is encoded, and each line', () => {
    const secret = 'line "one"\nline/two+é';
    const bytes = Buffer.from(secret);
    const texts = [
      JSON.stringify({ secret }),
      encodeURIComponent(secret),
      'line "one"',
      'line/two+é',
      ...(['base64', 'base64url', 'hex'] as const).map(encoding => bytes.toString(encoding)),
    ];
    for (const text of texts) {
      const shown = masked([secret], text);
      expect(shown).toContain('***');
      expect(shown).not.toMatch(/one|two|[0-9a-zA-Z]{12}/);
    }
  });

  it('withholds the longer of two that begin alike, and long ones in pieces', () => {
    expect(masked(['secret', 'secret-two'], 'secret-', 'two secret')).toBe('*** ***');
    expect(masked(['abcab', 'cabd'], 'abc', 'abd.')).toBe('***.');
    const long = Array.from({ length: 1027 }, (_, at) => String.fromCharCode(97 + (at % 26))).join('');
    expect(masked([long], `<${long}>`)).toBe('<***>');
  });
});
