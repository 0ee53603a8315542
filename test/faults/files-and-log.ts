import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { TestService } from '../harness/service.js';

interface Newest {
  path: string;
  kind: string;
  etag: string;
}

/** What the log says of files, and of the paths that they were moved from. */
const SAID = `
  select * from (
    select path, seq, kind, etag from workspace_change where workspace_id = $1
    union all
    select from_path, seq, 'deleted', null from workspace_change where workspace_id = $1 and from_path is not null
  ) said where etag is not null or kind = 'deleted'`;

/**
 * Where the files of a workspace and what the log of changes says of them differ: names of files with what is on disk and
 * what the log has. Changes that the log has twice are named as well.
 */
export async function filesUnlikeTheirLog(service: TestService, workspace: string): Promise<string[]> {
  const newest = await service.database.query<Newest>(
    `select distinct on (path) path, kind, etag from (${SAID}) said order by path, seq desc`,
    [workspace],
  );
  const logged = new Map(
    newest.flatMap(({ path, kind, etag }) => (kind === 'deleted' ? [] : [[path, etag]])),
  );
  const there = filesBelow(path.join(service.dataDir, 'workspaces', workspace));
  const unlike = [...new Set([...logged.keys(), ...there.keys()])]
    .filter(name => logged.get(name) !== there.get(name))
    .map(
      name => `${name}: ${there.get(name) ?? 'absent'} on disk, ${logged.get(name) ?? 'absent'} in the log`,
    );
  // What was moved away and back is there again, and is no change that was recorded twice.
  const twice = await service.database.query<{ path: string; n: number }>(
    `select path, count(*)::int + 1 as n
     from (select path, etag, lag(etag) over (partition by path order by seq) as before from (${SAID}) said) said
     where etag = before group by path`,
    [workspace],
  );
  return [...unlike, ...twice.map(({ path, n }) => `${path}: ${n} times in the log`)].sort();
}

/**
 * Files below a folder, with entity tags. Files that a killed writer had not named yet are no files of the workspace; the
 * service may delete them while they are listed here.
 */
function filesBelow(root: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of namesBelow(root)) {
    const stats = lstatSync(path.join(root, name), { bigint: true, throwIfNoEntry: false });
    if (stats?.isFile())
      found.set(name, `"${[stats.ino, stats.size, stats.mtimeNs].map(n => n.toString(36)).join('-')}"`);
  }
  return found;
}

/** Names of everything below a folder but temporary files and folders, into which it does not look. */
export function namesBelow(root: string, folder = ''): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.atelier-tmp-'))
    .flatMap(entry => {
      const name = path.join(folder, entry.name);
      return entry.isDirectory() ? [name, ...namesBelow(root, name)] : [name];
    });
}
