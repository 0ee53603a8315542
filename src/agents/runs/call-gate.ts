import { Injectable } from '@nestjs/common';
import { ASK_A_PERSON, isGrave, type Limit } from '../../platform/actions/index.js';
import {
  ApprovalPolicies,
  type ApprovalPolicy,
  type ApprovalRow,
  ApprovalsStore,
  DEFAULT_POLICY,
  type PolicyWatch,
} from '../approvals/index.js';
import { type QuestionRow, QuestionsStore } from '../questions/index.js';
import type { AgentGuide } from '../subagents/index.js';
import type { CallSubject } from '../tools/index.js';
import type { ExecutedRun } from './run-queue.store.js';
import type { OnApproval, PlannedCall, RunRow } from './run-state.js';

/** What becomes of a call: it is made, it is refused with these words, or a person is asked. */
export type GateVerdict = 'make' | 'ask' | { readonly refusal: string };

/** Opens the gates of runs. */
@Injectable()
export class CallGates {
  constructor(
    private readonly policies: ApprovalPolicies,
    private readonly approvals: ApprovalsStore,
    private readonly questions: QuestionsStore,
  ) {}

  /** A gate that has to {@link recall} before it is asked, and to be closed. */
  open(run: ExecutedRun): CallGate {
    return new CallGate(run, run.workspace_id === null ? null : this.policies.watch(run.workspace_id));
  }

  /** What people were asked in earlier attempts, and the policy as it is now. */
  async recall(gate: CallGate, { id, attempt }: ExecutedRun): Promise<void> {
    const [approvals, questions] = await Promise.all([
      attempt > 1 ? this.approvals.ofRun(id) : [],
      attempt > 1 ? this.questions.ofRun(id) : [],
      gate.refresh(),
    ]);
    gate.recall(approvals, questions);
  }
}

/** What the calls of one run need: nothing, an approval, or to be left alone. */
export class CallGate {
  private policy: ApprovalPolicy = DEFAULT_POLICY;
  private decided: ReadonlyMap<string, ApprovalRow> = new Map();
  private allowed: ReadonlySet<string> = new Set();
  private asked: ReadonlyMap<string, QuestionRow> = new Map();

  constructor(
    private readonly run: Pick<
      RunRow,
      'on_approval' | 'approval_seconds' | 'actor' | 'parent_id' | 'loop_id'
    >,
    /** null where there is no workspace, and so no tools. */
    private readonly watch: PolicyWatch | null,
  ) {}

  /** People were asked this in earlier attempts. */
  recall(approvals: readonly ApprovalRow[], questions: readonly QuestionRow[]): void {
    this.decided = new Map(approvals.map(row => [placeOf(row), row]));
    this.asked = new Map(questions.map(row => [placeOf(row), row]));
    const forRun = approvals.filter(({ status, scope }) => status === 'allowed' && scope === 'run');
    this.allowed = new Set(forRun.map(({ tool }) => tool));
  }

  /**
   * The policy holds as it stands by now. What counts as begun is not asked about again, so this is not called between that
   * and the call.
   */
  async refresh(): Promise<void> {
    if (this.watch) this.policy = await this.watch.now();
  }

  /** The policy that this process knows of, without asking. */
  get latestPolicy(): ApprovalPolicy {
    return this.watch?.latest ?? DEFAULT_POLICY;
  }

  close(): void {
    this.watch?.close();
  }

  private get onApproval(): OnApproval {
    const { on_approval, actor, parent_id } = this.run;
    const isProgram = actor.credential.type !== 'session';
    // A task is executed within the run above it, which has a worker slot: it reports back, and that run can ask.
    const isUnattended = (this.policy.is_default && isProgram) || parent_id !== null;
    return on_approval ?? (isUnattended ? 'refuse' : 'wait');
  }

  /** How long people have to decide about its calls. */
  get deadlineSeconds(): number {
    return this.run.approval_seconds ?? this.policy.deadline_seconds;
  }

  /** Whether the run ends where a person would have to be asked. */
  get fails(): boolean {
    return this.onApproval === 'fail';
  }

  /** What is to be done about a call that asks a person something: once that is closed, or where nobody is asked, it says so. */
  verdictOnQuestion(call: PlannedCall): 'make' | 'ask' {
    const asked = this.asked.get(placeOf(call));
    if (asked && asked.status !== 'pending') return 'make';
    return this.asksPeople ? 'ask' : 'make';
  }

  /** Whether a person is there to be asked: who sent the message, by hand or through an application of theirs. */
  get asksPeople(): boolean {
    const { on_approval, actor, parent_id, loop_id } = this.run;
    if (on_approval !== null) return on_approval === 'wait';
    return parent_id === null && loop_id === null && ['session', 'oauth'].includes(actor.credential.type);
  }

  /** What is to be done about a call. */
  verdict({ step, position }: PlannedCall, { name, effect, isNamed }: CallSubject): GateVerdict {
    const decision = this.decided.get(placeOf({ step, position }));
    if (decision && decision.status !== 'pending') return outcomeOf(decision);
    const verdict = this.policy[effect];
    // What exposes is asked about each time, whatever was allowed before and whatever a file names.
    if (effect !== 'expose') {
      if (this.allowed.has(name)) return 'make';
      if (verdict === 'auto' || (isNamed && this.policy.is_default)) return 'make';
    }
    if (verdict === 'deny')
      return { refusal: `${name} is ${effect}, and the policy of the workspace denies that. ${ELSE}` };
    if (this.onApproval === 'refuse')
      return {
        refusal: `${name} is ${effect} and needs an approval, for which no one is asked in this run. ${ELSE}`,
      };
    return 'ask';
  }
}

const placeOf = ({ step, position }: Pick<ApprovalRow, 'step' | 'position'>): string => `${step}/${position}`;

const ELSE = 'Do not look for a way around it; do without, or say that it is left to do.';

function outcomeOf({ status, note }: ApprovalRow): GateVerdict {
  if (status === 'allowed') return 'make';
  if (status === 'denied')
    return { refusal: note ? `Denied: ${note}` : `Denied by the person who was asked. ${ELSE}` };
  return { refusal: 'Not run: no one decided about it before something else came in.' };
}

/**
 * What a script in the sandbox of a run may not do, though its agent may, since no person can be asked there: a policy
 * that was set binds it, and what destroys or exposes takes more than a file that names it. Files can be written by
 * scripts, too, so the file counts as a person saved it. What exposes is done only in a run that they or their own program
 * started, and where all agents above name the action as well.
 */
export function limitOfScripts(
  { actor, depth, parent_id }: Pick<RunRow, 'actor' | 'depth' | 'parent_id'>,
  { allowlists }: AgentGuide,
  isFileTheirs: boolean,
  policy: () => ApprovalPolicy,
): Limit {
  const isStartedByThem = ['session', 'api_key'].includes(actor.credential.type);
  // An agent above that has no list of its own names nothing.
  const allNameIt = allowlists.length > depth && (parent_id === null || depth > 0);
  return ({ name, effect }) => {
    const { is_default, [effect]: verdict } = policy();
    if (!is_default && verdict === 'deny')
      return `${name} is ${effect}, and the policy of the workspace denies that`;
    if (!is_default && verdict === 'ask')
      return `${name} is ${effect} and needs an approval. ${ASK_A_PERSON}`;
    if (!isGrave(effect)) return undefined;
    const isExposing = effect === 'expose';
    const reason =
      (isExposing && !isStartedByThem && 'this run was not started by a person or their own key') ||
      (!isFileTheirs && 'the file of this agent was not last saved by a person') ||
      (isExposing && !allNameIt && 'not every agent above names it');
    if (!reason) return undefined;
    const does = isExposing ? 'opens something to others or grants rights' : 'is destructive';
    return `${name} ${does}, and ${reason}. ${ASK_A_PERSON}`;
  };
}
