import { createHash } from 'node:crypto';
import { nextFires, type ScheduleTrigger } from '../../automation/index.js';

/** A slot that is later than this was missed: no process was there to fire it. */
export const GRACE_MS = 5 * 60_000;
/** With `missed: all`. */
const MAX_FIRED = 24;
/** Slots that are looked at, at most; of those before, none is written down by itself. */
const MAX_LOOKED_AT = 200;
const FIRST_WINDOW_MS = 5 * 60_000;

/** What becomes of the slots that are due, oldest first. */
export interface DueSlots {
  readonly fires: readonly Date[];
  readonly missed: readonly Date[];
  /** The first one that is not due yet; null: there is none. */
  readonly next: Date | null;
}

/** How much later than its slot a schedule fires: always the same for one trigger, so that many do not fire at once. */
export function jitterMs({ jitterSeconds }: ScheduleTrigger, triggerId: string): number {
  if (jitterSeconds === 0) return 0;
  const drawn = createHash('sha256').update(triggerId).digest().readUInt32BE(0);
  return drawn % (jitterSeconds * 1000 + 1);
}

/** The slots from `first` on that are due at `now`, both without jitter, and what becomes of each. */
export function dueSlots(schedule: ScheduleTrigger, first: Date, now: Date): DueSlots {
  return alone(schedule, first, now) ?? manySlots(schedule, first, now);
}

/** Of a slot that is fresh and the only one that is due, as nearly all are; undefined where it is not so. */
function alone(schedule: ScheduleTrigger, first: Date, now: Date): DueSlots | undefined {
  const late = now.getTime() - first.getTime();
  if (late < 0 || late > Math.min(GRACE_MS, schedule.catchUpSeconds * 1000)) return undefined;
  const [slot, next = null] = nextFires(schedule, new Date(first.getTime() - 1), 2);
  if (slot?.getTime() !== first.getTime() || (next && next <= now)) return undefined;
  return { fires: [slot], missed: [], next };
}

function manySlots(schedule: ScheduleTrigger, first: Date, now: Date): DueSlots {
  const slots = newestFrom(schedule, first, now);
  const [next = null] = nextFires(schedule, now, 1);
  const isFresh = (slot: Date) => now.getTime() - slot.getTime() <= GRACE_MS;
  const isCaughtUp = (slot: Date) => now.getTime() - slot.getTime() <= schedule.catchUpSeconds * 1000;
  const fires = chosen(schedule, slots.filter(isCaughtUp), isFresh);
  return { fires, missed: slots.filter(slot => !fires.includes(slot)), next };
}

function chosen({ missed }: ScheduleTrigger, slots: Date[], isFresh: (slot: Date) => boolean): Date[] {
  if (missed === 'all') return slots.slice(-MAX_FIRED);
  const newest = slots.slice(-1);
  return missed === 'once' ? newest : newest.filter(isFresh);
}

/** The newest slots within [first, now], oldest first; never the many of a long time without service. */
function newestFrom(schedule: ScheduleTrigger, first: Date, now: Date): Date[] {
  for (let window = FIRST_WINDOW_MS; ; window *= 2) {
    const from = Math.max(first.getTime(), now.getTime() - window);
    const found = nextFires(schedule, new Date(from - 1), MAX_LOOKED_AT + 1, now);
    if (from === first.getTime() || found.length > MAX_LOOKED_AT / 2)
      return found.slice(0, MAX_LOOKED_AT + 1);
  }
}
