import { Injectable } from '@nestjs/common';
import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import { RunEvents } from '../../agents/runs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { iso } from '../../platform/database/index.js';
import type { EventLog, LogPage, Watched } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { AutomationEventsStore, automationEventsTopic } from './records/automation-events.store.js';
import { type AutomationRunRow, AutomationRunsStore } from './records/automation-runs.store.js';
import { automationRunTopic } from './records/automation-states.js';
import {
  AutomationEventView,
  AutomationRunView,
  WatchAutomationRun,
  WatchAutomations,
} from './views/automations.dto.js';

const MAX_PIECES = 200;

/** Watching runs of automations. */
@Injectable()
export class AutomationEventsService {
  constructor(
    private readonly runs: AutomationRunsStore,
    private readonly agents: RunEvents,
    private readonly workspaces: WorkspacesStore,
    private readonly log: AutomationEventsStore,
  ) {}

  @Action('automation_watch', {
    summary: 'Stream what happens to the automations of a workspace: deployments and runs',
    description:
      'Events are automation.run.queued, .started, .completed and .failed, and automation.deployment.deployed, .paused, .resumed and .stopped. `reset` says that those up to a number are not kept any more.',
    permission: 'automation.read',
    input: WatchAutomations,
    output: AutomationEventView,
    restOnly: true,
  })
  async all(actor: Actor, { workspace_id }: WatchAutomations): Promise<Watched> {
    await this.workspaces.require(actor, 'automation.read', workspace_id);
    return { workspaceId: workspace_id, log: new WorkspaceAutomations(this.log, workspace_id) };
  }

  @Action('automation_run_watch', {
    on: { id: 'automation_run' },
    summary: 'Stream the events of its agent, or what its script prints, to its end',
    permission: 'automation.read',
    input: WatchAutomationRun,
    output: AutomationRunView,
    restOnly: true,
  })
  async events(actor: Actor, { id }: WatchAutomationRun): Promise<Watched> {
    const run = await this.runs.require(actor, 'automation.read', id);
    const whose = [run.organization_id, actor.id];
    return { workspaceId: run.workspace_id, log: new RunLog(this.runs, this.agents, id, whose) };
  }
}

/** What happens to the automations of a workspace. */
class WorkspaceAutomations implements EventLog {
  readonly topic: Topic;

  constructor(
    private readonly log: AutomationEventsStore,
    private readonly workspaceId: string,
  ) {
    this.topic = automationEventsTopic(workspaceId);
  }

  async read(after: number): Promise<LogPage> {
    await this.log.number(this.workspaceId);
    const rows = await this.log.after(this.workspaceId, after, MAX_PIECES);
    const pruned = await this.log.prunedThrough(this.workspaceId);
    if (after < pruned)
      return { events: [{ id: pruned, event: 'reset', data: { pruned_through: pruned } }], isAgain: true };
    const events = rows.map(({ id, type, data, created_at }) => ({
      id: Number(id),
      event: type,
      data: { ...data, time: iso(created_at) },
    }));
    return { events, isAgain: rows.length === MAX_PIECES };
  }
}

/** The agent of one try of a run. */
interface Try {
  readonly callId: string;
  /** Events of the tries before it. */
  readonly base: number;
  readonly events: EventLog;
}

/** The events of its agents, try after try, or what its script prints; and how it ended. Numbers rise through all tries. */
class RunLog implements EventLog {
  private current: Try | undefined;
  private before: Try | undefined;
  private readonly ended = new Set<string>();
  private base = 0;

  constructor(
    private readonly runs: AutomationRunsStore,
    private readonly agents: RunEvents,
    private readonly id: string,
    /** Who watches. */
    private readonly whose: readonly string[],
  ) {}

  get topic(): Topic {
    return this.current?.events.topic ?? automationRunTopic(this.id);
  }

  async read(after: number, signal: AbortSignal): Promise<LogPage> {
    if (this.current) return this.readTry(this.current, after, signal);
    const run = await this.runs.find(this.id);
    if (!run) return { events: [], isLast: true };
    if (run.kind === 'script') return this.readScript(run, after);
    const calls = [...run.tries.map(({ call_id }) => call_id), run.call_id];
    const callId = calls.find(id => id !== null && !this.ended.has(id));
    if (callId) {
      this.current = { callId, base: this.base, events: this.agents.of(callId, this.whose) };
      return { events: [], isAgain: true };
    }
    if (run.state !== 'done') return { events: [] };
    // How its last agent ended has been told.
    return { events: run.call_id === null ? [endOf(run, this.base + 1)] : [], isLast: true };
  }

  async end(): Promise<ServerEvent | undefined> {
    return this.before && lastOf(this.before);
  }

  private async readTry(one: Try, after: number, signal: AbortSignal): Promise<LogPage> {
    const { isLast, ...page } = await one.events.read(Math.max(0, after - one.base), signal);
    const events = page.events.map(event => ({ ...event, id: event.id + one.base }));
    if (!isLast) return { ...page, events };
    // Another try may follow.
    this.base = events.at(-1)?.id ?? (await lastOf(one))?.id ?? one.base;
    this.ended.add(one.callId);
    this.before = one;
    this.current = undefined;
    return { events, isAgain: true };
  }

  private async readScript(run: AutomationRunRow, after: number): Promise<LogPage> {
    const pieces = await this.runs.printed(this.id, after, MAX_PIECES);
    const events = pieces.map(({ number: id, text, created_at }) => ({
      id,
      event: 'script.output',
      data: { text, created_at: iso(created_at) },
    }));
    if (pieces.length === MAX_PIECES) return { events, isAgain: true };
    if (run.state !== 'done') return { events };
    // Under the same number also for who resumes behind it.
    const id = (pieces.at(-1)?.number ?? (await this.runs.newestPrinted(this.id))) + 1;
    return { events: [...events, endOf(run, id)], isLast: true };
  }
}

async function lastOf({ base, events }: Try): Promise<ServerEvent | undefined> {
  const last = await events.end?.();
  return last && { ...last, id: last.id + base };
}

function endOf({ status, stop_reason, error, exit_code }: AutomationRunRow, id: number): ServerEvent {
  const event = status === 'completed' ? 'run.completed' : 'run.failed';
  return { id, event, data: { status, stop_reason, error, exit_code } };
}
