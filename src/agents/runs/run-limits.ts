import { Injectable } from '@nestjs/common';
import {
  accessTopic,
  Credentials,
  credentialTopic,
  workspaceAccessTopic,
} from '../../platform/access/index.js';
import { problemOf } from '../../platform/errors/index.js';
import type { Topics } from '../../platform/topics/index.js';
import { type ChatStanding, ChatsStore } from '../chats/index.js';
import { holdTopic, RunLost, type RunRow } from './run-state.js';
import type { RunsStore } from './runs.store.js';

/** What a run may use, tasks that it hands over included, as whoever sent its message set it. */
export interface RunBudget {
  cost_usd?: number;
  max_steps?: number;
  max_seconds?: number;
}

/** A limit that a run has reached: its stop reason, and what to say. */
export interface ReachedLimit {
  readonly stopReason: 'max_steps' | 'max_cost' | 'max_seconds';
  readonly text: string;
}

/** A limit was reached in the middle of a step. */
export class LimitReached extends Error {
  constructor(readonly limit: ReachedLimit) {
    super(`The run has reached ${limit.text}`);
  }
}

/** Model calls, and their cost in USD; null where that is not known. */
export interface Spent {
  readonly steps: number;
  readonly usd: number | null;
}

/** What a run's limits are made of. */
interface LimitsParts {
  readonly run: Pick<RunRow, 'id' | 'budget' | 'waited_ms' | 'step_count' | 'cost_usd'> & {
    /** How long ago a worker first took it up, by the clock of the database; in milliseconds. */
    readonly ran_ms: number;
  };
  /** The operator's limit. */
  readonly mostSteps: number;
  /** Those of the run that handed this one over as a task. */
  readonly above?: RunLimits;
  /** What its tasks had used before this attempt. */
  readonly spentOnTasks?: ReadonlyMap<string, Spent>;
}

/**
 * The limits of one run. Steps and cost are looked at between model calls, the time at any moment. What a task uses counts
 * for the budget of every run above it; all of them are carried in one process.
 */
export class RunLimits {
  /** Aborted when the time is over. */
  readonly expired: AbortSignal;
  /** Model calls, that under way included. */
  private steps: number;
  private usd: number | null;
  private readonly tasks: Map<string, Spent | RunLimits>;

  constructor(private readonly parts: LimitsParts) {
    const { run, above, spentOnTasks } = parts;
    this.steps = run.step_count;
    this.usd = run.step_count === 0 ? (run.cost_usd ?? 0) : run.cost_usd;
    this.tasks = new Map(spentOnTasks);
    this.expired = expiry(run);
    above?.tasks.set(run.id, this);
  }

  /** Whether any budget over the run limits its cost. */
  get limitsCost(): boolean {
    return this.parts.run.budget?.cost_usd !== undefined || this.parts.above?.limitsCost === true;
  }

  /**
   * The limit that keeps the run from another model call; `ofAgent` is the most steps of its agent, and `underWay` one
   * for a run that is in the middle of a step.
   */
  reached(ofAgent: number, underWay = 0): ReachedLimit | undefined {
    const mostSteps = Math.min(this.parts.mostSteps, ofAgent);
    if (this.steps - underWay >= mostSteps)
      return { stopReason: 'max_steps', text: `its limit of ${count(mostSteps, 'step')}` };
    return this.reachedBudget('its', underWay);
  }

  /** A model call begins, and counts. */
  begin(): void {
    this.steps++;
  }

  /** Counts what a model call cost; null where that is not known, and then nothing is. */
  add(costUsd: number | null): void {
    this.usd = sum(this.usd, costUsd);
  }

  /** The limit of time, once it is over. */
  get reachedTime(): ReachedLimit {
    const { max_seconds = 0 } = this.parts.run.budget ?? {};
    return { stopReason: 'max_seconds', text: `its limit of ${count(max_seconds, 'second')}` };
  }

  private reachedBudget(whose: string, underWay: number): ReachedLimit | undefined {
    const { run, above } = this.parts;
    const { cost_usd, max_steps } = run.budget ?? {};
    const { steps, usd } = this.total();
    if (max_steps !== undefined && steps - underWay >= max_steps)
      return { stopReason: 'max_steps', text: `${whose} limit of ${count(max_steps, 'step')}` };
    if (cost_usd !== undefined && usd !== null && usd >= cost_usd)
      return { stopReason: 'max_cost', text: `${whose} budget of $${cost_usd}` };
    return above?.reachedBudget('the whole run’s', underWay);
  }

  private total(): Spent {
    let steps = this.steps;
    let usd = this.usd;
    for (const task of this.tasks.values()) {
      const spent = task instanceof RunLimits ? task.total() : task;
      steps += spent.steps;
      usd = sum(usd, spent.usd);
    }
    return { steps, usd };
  }
}

type Timed = Pick<LimitsParts['run'], 'budget' | 'ran_ms' | 'waited_ms'>;

const sum = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b);
const count = (number: number, unit: string) => `${number} ${number === 1 ? unit : `${unit}s`}`;

/** The time counts from when a worker first took the run up, over all its attempts, but not while it waited for people. */
function expiry({ budget, ran_ms, waited_ms }: Timed): AbortSignal {
  if (budget?.max_seconds === undefined) return new AbortController().signal;
  // A timer takes whole milliseconds only.
  return AbortSignal.timeout(Math.max(0, Math.ceil(budget.max_seconds * 1000 + Number(waited_ms) - ran_ms)));
}

/** What a run is to be allowed by. */
type Authorized = Pick<RunRow, 'actor' | 'chat_id'>;

/** Whoever started the run may not have it run any more. */
export class AuthorityLost extends Error {}

const AGENTS_OFF = 'The feature agents is turned off in this workspace';

/**
 * Whether a run still has the authority that it was started with. Asked when an attempt begins, and while it goes on when a
 * key is revoked or a member is removed or gets another role. A lower role alone ends nothing: each call is refused what it
 * lacks.
 */
@Injectable()
export class RunAuthority {
  constructor(
    private readonly chats: ChatsStore,
    private readonly credentials: Credentials,
  ) {}

  /** Throws AuthorityLost, saying why, before an attempt begins. */
  async require(run: Authorized): Promise<void> {
    const { features_off } = await this.requireAccess(run);
    if (features_off.includes('agents')) throw new AuthorityLost(AGENTS_OFF);
  }

  /** The same for one under way: those are stopped when the agents of their workspace are turned off. */
  async requireAccess({ actor, chat_id }: Authorized): Promise<Pick<ChatStanding, 'features_off'>> {
    // A session is renewed and a key replaced, so what they started outlives them.
    const { credential } = actor;
    if (credential.type !== 'session' && !(await this.credentials.stands(credential, { evenExpired: true })))
      throw new AuthorityLost('The key or the grant with which this run was started has been revoked');
    try {
      // Whether its credential may read chats does not matter.
      const onlooker = { ...actor, credential: { ...credential, scopes: null } };
      return await this.chats.require(onlooker, 'chat.read', chat_id);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      throw new AuthorityLost(`${actor.name}, who started this run, has no access to its chat any more`);
    }
  }
}

/**
 * What a worker knows of messages that wait to enter the run that it carries. They enter between two steps; until then
 * a tool that takes long is told to come to an end, and calls that have not begun are not made. So it is in the tasks of
 * the run, which end at their next step.
 */
export class Steering {
  private arrival = new AbortController();

  /** `above` is that of the run which handed this one over as a task. */
  constructor(private readonly above?: Steering) {}

  /** Whether one waits, as far as is known. */
  get waits(): boolean {
    return this.arrival.signal.aborted;
  }

  /** Whether one waits to enter a run above, which this one keeps from going on. */
  get isInTheWay(): boolean {
    return this.above?.waits === true || this.above?.isInTheWay === true;
  }

  /** Aborted when a message waits, for this run or one above. */
  get signal(): AbortSignal {
    return this.above ? AbortSignal.any([this.arrival.signal, this.above.signal]) : this.arrival.signal;
  }

  /** `count` messages wait, as the database has it. */
  note(count: number): void {
    if (count > 0) this.arrival.abort();
    else if (this.waits) this.arrival = new AbortController();
  }
}

/**
 * An attempt's hold on its run. It is lost when the run is gone or another worker has taken it up; then what is still
 * under way for it, such as a command in a sandbox, is of no use and ends. So it does when the run loses its authority. It
 * also hears of messages that are to enter.
 */
export class RunHold {
  private readonly lost = new AbortController();
  private readonly unsubscribe: (() => void)[];

  constructor(
    private readonly runs: RunsStore,
    topics: Topics,
    private readonly run: Authorized & Pick<RunRow, 'id' | 'attempt' | 'workspace_id'>,
    private readonly steering: Steering,
    private readonly authority: RunAuthority,
  ) {
    const { id, workspace_id, actor } = run;
    const ofAccess = [accessTopic(actor.id), credentialTopic(actor.credential.id)];
    if (workspace_id) ofAccess.push(workspaceAccessTopic(workspace_id));
    this.unsubscribe = [
      topics.subscribe(holdTopic(id), () => void this.look()),
      ...ofAccess.map(topic => topics.subscribe(topic, () => void this.lookAtAccess())),
    ];
  }

  /** Aborted, with the reason, when the hold is lost. */
  get signal(): AbortSignal {
    return this.lost.signal;
  }

  release(): void {
    for (const end of this.unsubscribe) end();
  }

  private async look(): Promise<void> {
    try {
      const now = await this.runs.find(this.run.id);
      if (now?.attempt !== this.run.attempt || now.status !== 'pending') this.lost.abort(new RunLost());
      else this.steering.note(now.steers);
    } catch (error) {
      // Whether it is still ours cannot be told, and we do not go on as if it were.
      this.lost.abort(error);
    }
  }

  private async lookAtAccess(): Promise<void> {
    await this.look();
    if (this.lost.signal.aborted) return;
    try {
      await this.authority.requireAccess(this.run);
    } catch (error) {
      this.lost.abort(error);
    }
  }
}
