import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A path that is one thing and another by turns. */
export interface Swap {
  /** The path, which is there: a file with `own` in it, or a folder. */
  readonly at: string;
  /** file: becomes a link. folder: becomes a link, is away for a moment, is made anew. kind: is a file for a moment. */
  readonly as: 'file' | 'folder' | 'kind';
  /** What the link leads to. */
  readonly outside: string;
}

/** What files of a folder that is made anew hold, and a file that is no link. */
export const OWN = 'own';

const SWAPPER = `
const fs = require('node:fs');
const path = require('node:path');
const [asideFolder, names, ...swaps] = process.argv.slice(1).map(each => JSON.parse(each));
let n = 0;
const aside = () => path.join(asideFolder, String(n++));
const attempt = step => { try { step(); } catch {} };
const away = at => { const to = aside(); attempt(() => { fs.renameSync(at, to); fs.rmSync(to, { recursive: true }); }); };
const anew = at => {
  const next = aside();
  for (const name of names) {
    fs.mkdirSync(path.dirname(path.join(next, name)), { recursive: true });
    fs.writeFileSync(path.join(next, name), '${OWN}');
  }
  attempt(() => fs.renameSync(next, at));
  fs.rmSync(next, { recursive: true, force: true });
};
const over = (at, make) => { const next = aside(); make(next); attempt(() => fs.renameSync(next, at)); fs.rmSync(next, { force: true }); };
const turn = {
  file: ({ at, outside }) => {
    over(at, next => fs.symlinkSync(outside, next));
    over(at, next => fs.writeFileSync(next, '${OWN}'));
  },
  folder: ({ at, outside }) => {
    away(at);
    attempt(() => fs.symlinkSync(outside, at));
    away(at);
    anew(at);
  },
  kind: ({ at }) => {
    away(at);
    attempt(() => fs.writeFileSync(at, '${OWN}'));
    away(at);
    anew(at);
  },
};
let stopping = false;
process.stdin.on('end', () => { stopping = true; }).resume();
const go = () => {
  for (let times = 0; times < 20; times++) for (const swap of swaps) turn[swap.as](swap);
  if (!stopping) setImmediate(go);
};
go();
process.stdout.write('going');
`;

/** A process that swaps what is at some paths, as fast as it can, until it is stopped: then each is what it was. */
export class Swapper {
  private constructor(
    private readonly child: ChildProcess,
    private readonly ended: Promise<unknown[]>,
  ) {}

  /**
   * Resolves when every path was swapped a few times. `aside` is an empty folder on the same disk; `names` are the files
   * of a folder that is made anew.
   */
  static async start(aside: string, names: string[], swaps: Swap[]): Promise<Swapper> {
    const given = [aside, names, ...swaps].map(each => JSON.stringify(each));
    const child = spawn(process.execPath, ['-e', SWAPPER, ...given], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    await Promise.race([once(child.stdout, 'data'), ended]);
    return new Swapper(child, ended);
  }

  async stop(): Promise<void> {
    this.child.stdin?.end();
    const [code] = await this.ended;
    if (code !== 0) throw new Error(`the swapper ended with ${code}`);
  }
}

/** Runs `work` while paths are swapped. */
export async function whileSwapping(
  aside: string,
  names: string[],
  swaps: Swap[],
  work: () => Promise<void>,
): Promise<void> {
  const swapper = await Swapper.start(aside, names, swaps);
  try {
    await work();
  } finally {
    await swapper.stop();
  }
}
