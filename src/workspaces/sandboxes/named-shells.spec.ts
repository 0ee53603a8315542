import { describe, expect, it } from '@jest/globals';
import {
  LastingShell,
  type SandboxSession,
  type SessionEnd,
  type SessionResult,
} from '#libs/sandbox/index.js';
import type { Actor } from '../../platform/access/index.js';
import type { Config } from '../../platform/config/index.js';
import type { Log } from '../../platform/log/index.js';
import { NamedShells } from './named-shells.js';
import type { RunningSandboxes } from './running-sandboxes.js';
import type { SandboxesService } from './sandboxes.service.js';

const ada = { type: 'user', id: 'ada' } as Actor;
const place = { id: 'w', number: 1, organization_id: 'o' };

/** Sessions whose commands say how many there were, and that tell when they have ended. */
function opened(idleSeconds: number) {
  const sessions: SandboxSession[] = [];
  const open = (): SandboxSession => {
    let count = 0;
    let finish: (end: SessionEnd) => void = () => undefined;
    const ended = new Promise<SessionEnd>(resolve => {
      finish = resolve;
    });
    const result = { exit_code: 0, ended_by: 'exit', limit: null, session_ended: null } as SessionResult;
    return {
      ended,
      run: async () => ({ ...result, output: `${++count}` }),
      interrupt: () => false,
      runsOn: () => false,
      usage: () => ({ memory_bytes: 0, cpu_ms: 0, processes: 0, unlinkedBytes: () => 0 }),
      end: async () => finish('ended'),
    };
  };
  const openShell = () =>
    new LastingShell(async () => {
      const session = open();
      sessions.push(session);
      return { session, extras: () => ({}) };
    });
  const shells = new NamedShells(
    { sandboxLimits: { idle_seconds: idleSeconds } } as Config,
    { openShell } as unknown as SandboxesService,
    { sessionsOf: async () => [] } as unknown as RunningSandboxes,
    { warn: () => undefined } as unknown as Log,
  );
  const run = (name: string) =>
    shells.use(ada, 'w', name, async shell => (await shell.run(place, { script: 'true' })).output);
  return { shells, sessions, run };
}

describe('named shells', () => {
  it('end when nothing is run in them for a while, and begin anew', async () => {
    const { sessions, run } = opened(0.01);
    expect(await run('a')).toBe('1');
    expect(await sessions[0]?.ended).toBe('ended');
    expect(await run('a')).toBe('1');
    expect(sessions).toHaveLength(2);
  });

  it('stay while something runs in them', async () => {
    const { shells, sessions, run } = opened(0.01);
    const after = await shells.use(ada, 'w', 'a', async () => {
      await run('a');
      await run('b');
      // The one that waits longer has ended, so the time of the other would be over as well.
      await sessions[1]?.ended;
      return run('a');
    });
    expect(after).toBe('2');
  });

  it('end with the service', async () => {
    const { shells, sessions, run } = opened(600);
    await run('a');
    await run('b');
    await shells.onModuleDestroy();
    expect(await Promise.all(sessions.map(({ ended }) => ended))).toEqual(['ended', 'ended']);
  });

  it('that ended by themselves count no more', async () => {
    const { sessions, run } = opened(600);
    const names = Array.from({ length: 8 }, (_, number) => `${number}`);
    for (const name of names) await run(name);
    await expect(run('one-more')).rejects.toThrow('You have 8 sessions');
    await sessions[3]?.end();
    expect(await run('one-more')).toBe('1');
  });
});
