import { textOf } from '#libs/exact-json/index.js';
import type { MessagePart, SaidCall } from './messages.store.js';

/** A message with its calls, as far as it matters to which of their results are still of use. */
interface Spoken {
  readonly run_id: string;
  readonly step: number | null;
  readonly content: readonly MessagePart[];
  readonly calls: readonly Pick<SaidCall, 'call_id' | 'tool' | 'output' | 'is_error' | 'state' | 'images'>[];
}
type Call = Spoken['calls'][number];

/** A result that is shorter takes no room to speak of. */
const MIN_LENGTH = 400;
/** Asked the same again, their newest answer is the one that holds. */
const LOOKING: ReadonlySet<string> = new Set([
  'list_files',
  'find_files',
  'search_files',
  'web_fetch',
  'actions_search',
  'actions_describe',
]);

const LEFT_OUT = 'Left out to make room: a later call gave this anew.';

const keyOf = ({ run_id, step }: Spoken, { call_id }: Call): string => `${run_id}/${step}/${call_id}`;

/** The results that a later one has made superfluous: of the same lines of a file, of the same question, older plans. */
export function supersededResults(rows: readonly Spoken[]): ReadonlySet<string> {
  const newer = new Newer();
  const found = new Set<string>();
  for (const row of rows.toReversed()) {
    for (const call of row.calls.toReversed()) {
      if (call.state !== 'finished' || call.is_error || call.images !== null) continue;
      const isOld = newer.supersedes(call, inputOf(row, call));
      if (isOld && (call.output?.length ?? 0) >= MIN_LENGTH) found.add(keyOf(row, call));
    }
  }
  return found;
}

/** The conversation with a word in the place of each of these results. */
export function withoutResults<Row extends Spoken>(
  rows: readonly Row[],
  left: ReadonlySet<string>,
): readonly Row[] {
  if (left.size === 0) return rows;
  return rows.map(row =>
    row.calls.some(call => left.has(keyOf(row, call)))
      ? {
          ...row,
          calls: row.calls.map(call => (left.has(keyOf(row, call)) ? { ...call, output: LEFT_OUT } : call)),
        }
      : row,
  );
}

/** What later calls gave. */
class Newer {
  private hasPlan = false;
  private readonly asked = new Set<string>();
  /** Of each file, the lines that were read. */
  private readonly read = new Map<string, Range[]>();

  /** Whether a later call gave what this one did; it counts as a later one from now on. */
  supersedes({ tool, output }: Call, input: Record<string, unknown>): boolean {
    if (tool === 'plan') {
      const isOld = this.hasPlan;
      this.hasPlan = true;
      return isOld;
    }
    if (tool === 'read_file') return this.reads(textOf(input.path), rangeOf(output ?? ''));
    if (!LOOKING.has(tool)) return false;
    const question = `${tool} ${JSON.stringify(input)}`;
    const isOld = this.asked.has(question);
    this.asked.add(question);
    return isOld;
  }

  private reads(path: string, range: Range | undefined): boolean {
    if (!range) return false;
    const later = this.read.get(path) ?? [];
    const isOld = later.some(({ first, last }) => first <= range.first && last >= range.last);
    if (!isOld) this.read.set(path, [...later, range]);
    return isOld;
  }
}

interface Range {
  readonly first: number;
  readonly last: number;
}

/** The lines that are shown, each after its number and a tab. */
function rangeOf(output: string): Range | undefined {
  const first = /^(\d+)\t/.exec(output)?.[1];
  if (first === undefined) return undefined;
  const lines = output.split('\n');
  const last = lines.map(line => /^(\d+)\t/.exec(line)?.[1]).findLast(number => number !== undefined);
  return { first: Number(first), last: Number(last) };
}

function inputOf({ content }: Spoken, { call_id }: Call): Record<string, unknown> {
  const part = content.find(part => part.type === 'tool-call' && part.toolCallId === call_id);
  const input = part?.type === 'tool-call' ? part.input : undefined;
  return typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
}
