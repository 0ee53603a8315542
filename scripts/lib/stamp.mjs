import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { projectDir } from './project.mjs';

/** A stamp says what a folder was made from; it is written last, and whole or not at all. */
export function readStamp(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function writeStamp(file, content) {
  const draft = `${file}.${process.pid}`;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(draft, JSON.stringify(content));
  renameSync(draft, file);
}

export function removeStamp(file) {
  rmSync(file, { force: true });
}

export function hashOf(...contents) {
  const hash = createHash('sha256');
  for (const content of contents) hash.update(content).update('\0');
  return hash.digest('hex');
}

/** Every file below the given ones, as paths relative to the project, sorted; absent ones are left out. */
export function filesBelow(...roots) {
  return roots.flatMap(root => list(root)).sort();
}

function list(relative) {
  try {
    const entries = readdirSync(path.join(projectDir, relative), { withFileTypes: true });
    return entries.flatMap(entry => {
      const below = path.join(relative, entry.name);
      return entry.isDirectory() ? list(below) : [below];
    });
  } catch (error) {
    if (error.code === 'ENOTDIR') return [relative];
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}
