import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceProcess } from './service-process.js';

/** Far above what is wanted, for machines that are slow. */
export const MAX_TURN_MS = 500;

/**
 * Has a process say with each SIGUSR2 for how long its event loop was kept from its timers since the one before, in processor
 * time of its thread: on a busy machine, all waits for others.
 */
export const TURNS = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    const used = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1000; };
    let [last, longest] = [used(), 0];
    setInterval(() => { const now = used(); longest = Math.max(longest, now - last); last = now; }, 2).unref();
    process.on('SIGUSR2', () => { console.log(JSON.stringify({ msg: 'longest turn', ms: longest })); longest = 0; });`)}`,
};

export async function longestTurn({ lines, pid }: ServiceProcess): Promise<number> {
  const said = () => lines.filter(({ msg }) => msg === 'longest turn');
  const before = said().length;
  process.kill(pid, 'SIGUSR2');
  while (said().length === before) await sleep(20);
  return said().at(-1)?.ms;
}
