import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const folders: string[] = [];

/** A fresh folder that every account may pass, removed by {@link removeScratch}. */
export function scratchFolder(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pg-test-'));
  chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

export function removeScratch(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}
