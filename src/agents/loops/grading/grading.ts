import { Injectable } from '@nestjs/common';
import { BudgetReached } from '../../../identity/billing/index.js';
import { Database } from '../../../platform/database/index.js';
import { AuthorityLost, StandingAuthority, type VisibleWorkspace } from '../../../workspaces/core/index.js';
import { type Comparison, RunFiles } from '../../../workspaces/history/index.js';
import { ModelUnusable, ResponseSchemas } from '../../models/index.js';
import { type RunRow, RunsStore } from '../../runs/index.js';
import {
  type CheckResult,
  type LoopEnd,
  type LoopRow,
  LoopsStore,
  LoopWriter,
  type Verdict,
} from '../records/index.js';
import { endOf, LoopEnds, leftOf } from '../running/index.js';
import { CheckScript } from './check-script.js';
import { Grader, GraderFailed, GradingUnpaid } from './grader.js';
import { outcomeOf } from './run-outcome.js';

const COMPARED = { files: 200, diffs: 40, bytes: 64 * 1024 };
const MAX_FAULTS_SHOWN = 4_000;
const SATISFIED: LoopEnd = { outcome: 'satisfied', reason: 'All that was pinned holds' };

interface Work {
  readonly loop: LoopRow;
  readonly run: RunRow;
  readonly signal: AbortSignal;
}

interface Found {
  readonly checks: readonly CheckResult[];
  readonly verdict: Verdict | null;
}

/** Looks at what an iteration left, the cheapest first, and decides how the loop goes on. */
@Injectable()
export class Grading {
  constructor(
    private readonly database: Database,
    private readonly runs: RunsStore,
    private readonly loops: LoopsStore,
    private readonly writer: LoopWriter,
    private readonly ends: LoopEnds,
    private readonly authority: StandingAuthority,
    private readonly files: RunFiles,
    private readonly schemas: ResponseSchemas,
    private readonly script: CheckScript,
    private readonly grader: Grader,
  ) {}

  /** Grades a loop that this process has taken. What it throws is tried again later. */
  async grade(loop: LoopRow, signal: AbortSignal): Promise<void> {
    const run = loop.call_id === null ? undefined : await this.runs.find(loop.call_id);
    const end = outcomeOf(loop, run);
    if (end || !run) return this.end(loop, end ?? { outcome: 'error', reason: 'It has no run' });
    const started = performance.now();
    const seconds = () => (performance.now() - started) / 1000;
    const time = expiry(leftOf(loop).seconds);
    try {
      const workspace = await this.authority.require(loop.actor, loop.workspace_id, 'agent.run');
      const changed = await this.files.compared(workspace, await this.loops.runsOf(loop.id), COMPARED);
      const work = { loop, run, signal: AbortSignal.any([signal, time]) };
      const found = await this.find(work, workspace, changed);
      await this.conclude(loop, found, changed, seconds());
    } catch (error) {
      const isOutOfTime = time.aborted && !signal.aborted;
      const fault = isOutOfTime ? OUT_OF_TIME : endBy(error);
      if (!fault) throw error;
      await this.end(loop, fault, seconds());
    }
  }

  private async find(work: Work, workspace: VisibleWorkspace, changed: Comparison): Promise<Found> {
    const { loop, run, signal } = work;
    const iteration = (await this.loops.iterations(loop.id)).at(-1);
    const checks =
      iteration && iteration.checks.length > 0 ? iteration.checks : await this.check(work, workspace);
    const { rubric } = loop.goal;
    if (!rubric || checks.some(({ met }) => !met)) return { checks, verdict: null };
    const exhibit = { prompt: loop.prompt, rubric, answer: run.response ?? '', changed };
    const { id, attempt } = run;
    const verdict = await this.grader.verdict({ loop, run: { id, attempt }, workspace, exhibit, signal });
    return { checks, verdict };
  }

  private async check({ loop, run, signal }: Work, workspace: VisibleWorkspace): Promise<CheckResult[]> {
    const { check, schema } = loop.goal;
    const response = run.response ?? '';
    const checks: CheckResult[] = [];
    if (check) {
      await this.authority.require(loop.actor, loop.workspace_id, 'code.run');
      const code = await this.loops.code(loop.id);
      if (!code) throw new Error(`The check of loop ${loop.id} is gone`);
      checks.push(await this.script.run(loop, { check, code }, { workspace, response, signal }));
    }
    if (schema) {
      const { faults } = await this.schemas.checkOf(schema).read(response);
      const detail = (faults ?? []).join('\n').slice(0, MAX_FAULTS_SHOWN).toWellFormed();
      checks.push({ kind: 'schema', met: !faults, detail });
    }
    if (checks.length > 0) await this.database.transaction(unit => this.writer.checked(unit, loop, checks));
    return checks;
  }

  private async conclude(
    loop: LoopRow,
    { checks, verdict }: Found,
    { digest }: Comparison,
    seconds: number,
  ): Promise<void> {
    const unmet = [
      ...checks.filter(({ met }) => !met).map(({ kind }) => kind),
      ...(verdict?.criteria ?? []).filter(({ met }) => !met).map(({ id }) => id),
    ].sort();
    await this.database.transaction(async unit => {
      const graded = { checks, verdict, unmet, filesDigest: digest, seconds };
      const now = await this.writer.graded(unit, loop, graded);
      if (!now) return;
      const end = unmet.length === 0 ? SATISFIED : endOf(now, await this.loops.iterations(loop.id, unit));
      if (end) await this.ends.end(unit, loop.id, end, { isOurs: true });
      else await this.writer.repeat(unit, now);
    });
  }

  private async end({ id }: LoopRow, end: LoopEnd, seconds = 0): Promise<void> {
    await this.ends.endNow(id, end, { isOurs: true, seconds });
  }
}

const OUT_OF_TIME: LoopEnd = { outcome: 'budget', reason: 'Its time was over while it was graded' };

/** Aborted when so many seconds are over. */
const expiry = (seconds: number | undefined): AbortSignal =>
  seconds === undefined ? new AbortController().signal : AbortSignal.timeout(Math.ceil(seconds * 1000));

/** How a loop ends by what kept it from being graded; undefined where it may be tried again. */
function endBy(error: unknown): LoopEnd | undefined {
  if (error instanceof GradingUnpaid) return { outcome: 'budget', reason: error.message };
  if (error instanceof BudgetReached) return { outcome: 'budget', reason: error.detail };
  if (error instanceof GraderFailed || error instanceof AuthorityLost)
    return { outcome: 'error', reason: error.message };
  if (error instanceof ModelUnusable) return { outcome: 'error', reason: error.detail };
  return undefined;
}
