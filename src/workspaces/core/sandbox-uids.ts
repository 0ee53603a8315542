import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { Log } from '../../platform/log/index.js';

/** Where installations began that know no range of their own, well above people and system services. */
export const LEAST_UID = 200_000;
/** What systemd leaves to nobody, above its ranges for containers (https://systemd.io/UIDS-GIDS): 268 million ids. */
const FREE_UIDS = { first: 0x7000_0000, last: 0x7fff_ffff };
/** So many workspaces an installation may make at least. */
const ROOM = 1_000_000;

/**
 * Which host user ids the sandboxes of this installation have. Two installations on one host must not share any: the code
 * of one would reach the processes and files of the other. So each begins somewhere else, by chance or as SANDBOX_UID_BASE
 * says, and keeps that: the files of its workspaces belong to these ids.
 */
@Injectable()
export class SandboxUids implements OnModuleInit {
  private base: number | undefined;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  async onModuleInit(): Promise<void> {
    const wanted = this.config.sandboxUidBase;
    const chosen = wanted ?? chooseBase(lastMappedUid());
    // Of several processes that start at once, the first one decides for all.
    const { rows } = await sql<{ base: string }>`
      update installation set sandbox_uid_base = coalesce(sandbox_uid_base, ${chosen})
      returning sandbox_uid_base as base`.execute(this.database.tables());
    this.base = Number(rows[0]?.base);
    if (wanted !== undefined && wanted !== this.base)
      this.log.warn(
        { wanted, kept: this.base },
        `SANDBOX_UID_BASE has no effect: the files of this installation belong to user ids from ${this.base} on`,
      );
  }

  of(workspaceNumber: number): number {
    if (this.base === undefined) throw new Error('The range of user ids is not read yet');
    return this.base + workspaceNumber;
  }
}

/** Somewhere among the ids that are nobody's, or as far up as a container with fewer of them allows. */
export function chooseBase(lastUid: number): number {
  if (lastUid >= FREE_UIDS.last) return randomInt(FREE_UIDS.first, FREE_UIDS.last - ROOM);
  return lastUid - ROOM > LEAST_UID ? randomInt(LEAST_UID, lastUid - ROOM) : LEAST_UID;
}

/** The highest user id that exists in this user namespace, of those from 0 on (user_namespaces(7)). */
export function lastMappedUid(map = readMap()): number {
  let last = -1;
  const ranges = map.split('\n').map(line => line.trim().split(/\s+/).map(Number));
  for (const [inside = Number.NaN, , count = 0] of ranges.sort(([a = 0], [b = 0]) => a - b))
    if (inside <= last + 1) last = Math.max(last, inside + count - 1);
  return last;
}

function readMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8');
  } catch (error) {
    // Not Linux: no namespaces.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return `0 0 ${2 ** 32 - 1}`;
    throw error;
  }
}
