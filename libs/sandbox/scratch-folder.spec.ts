import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { scratchFolder } from './scratch-folder.js';

it('a folder of a process that was killed is removed, and no other', async () => {
  const parent = mkdtempSync(path.join(tmpdir(), 'scratch-folder-'));
  const ended = spawnSync('true').pid;
  const own = await scratchFolder(tmpdir(), 'atelier-npm');
  const [where, , start] = path.basename(own).split('-').slice(2);
  rmSync(own, { recursive: true });
  const dead = [
    `atelier-shown-${where}-${ended}-1-AbCdEf`,
    `sandbox-session-${where}-${ended}-1-AbCdEf`,
    // A process before this one had its number.
    `atelier-shown-${where}-${process.pid}-1-AbCdEf`,
  ];
  const others = [
    `atelier-shown-${where}-${process.pid}-${start}-AbCdEf`,
    `atelier-shown-0123abcd-${ended}-1-AbCdEf`,
    `atelier-data-AbCdEf`,
    `other-shown-${where}-${ended}-1-AbCdEf`,
  ];
  for (const name of [...dead, ...others]) mkdirSync(path.join(parent, name));
  for (const name of dead) writeFileSync(path.join(parent, name, 'secret'), 'x', { mode: 0o400 });
  const made = await scratchFolder(parent, 'atelier-npm');
  expect(readdirSync(parent).sort()).toEqual([path.basename(made), ...others].sort());
  expect(path.basename(made)).toMatch(new RegExp(`^atelier-npm-${where}-${process.pid}-${start}-\\w{6}$`));
  rmSync(parent, { recursive: true });
});

it('its parent is made where there is none', async () => {
  const parent = path.join(mkdtempSync(path.join(tmpdir(), 'scratch-folder-')), 'run', 'host');
  expect(existsSync(await scratchFolder(parent, 'atelier-npm'))).toBe(true);
  rmSync(path.join(parent, '..', '..'), { recursive: true });
});
