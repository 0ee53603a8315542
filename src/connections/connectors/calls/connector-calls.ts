import { Injectable } from '@nestjs/common';
import { TookTooLong } from '#libs/worker-pool/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { beforeSideEffect } from '../../../platform/database/index.js';
import { Conflict, Invalid, NotFound, Unavailable } from '../../../platform/errors/index.js';
import { task, Workers } from '../../../platform/workers/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import { ConnectorFault, toFault } from '../client/connector-fault.js';
import { type Authority } from '../client/remote-server.js';
import { ConnectorsStore } from '../records/connectors.store.js';
import { pinTool, type ToolDefinition } from '../tools/pin.js';
import { ConnectorClients, type OpenConnection } from './connector-clients.js';
import { CredentialUse } from './credential-use.js';
import { frameResult, type RemoteResult } from './remote-result.js';
import { ToolSync } from './tool-sync.js';
import { type ConnectorTool, objectionTo, UsableTools } from './usable-tools.js';

export interface ConnectorCall {
  readonly actor: Actor;
  readonly workspaceId: string;
  readonly callName: string;
  readonly input: Record<string, unknown>;
}

interface CallHooks {
  readonly signal: AbortSignal;
  readonly onProgress?: (message: string) => void;
}

const CHECK = task('libs/bounded-schema/schema-task', 'faultsOfValue');
/** Longer than the bounds of the check itself. */
const CHECK_MS = 5_000;

/** The server changed a tool since it was approved. */
class PinBroken extends Error {}

/** Calls tools of connectors, as far as people approved them. */
@Injectable()
export class ConnectorCalls {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly usable: UsableTools,
    private readonly credentials: CredentialUse,
    private readonly clients: ConnectorClients,
    private readonly sync: ToolSync,
    private readonly connectors: ConnectorsStore,
    private readonly workers: Workers,
  ) {}

  /** The tool as it stands now; 403 and 404 as for the workspace, 404 where the actor has no such tool there. */
  async require(actor: Actor, workspaceId: string, callName: string): Promise<ConnectorTool> {
    await this.workspaces.require(actor, 'connection.use', workspaceId);
    const tools = await this.usable.list(actor, workspaceId);
    const found = tools.find(tool => tool.callName === callName);
    if (!found) throw new NotFound(`There is no tool ${callName} in this workspace`);
    return found;
  }

  /**
   * Calls a tool that {@link require} found. What cannot be called is refused with advice: 409 where a person has to do
   * something, 422 for an input that does not fit, 503 where the server cannot be reached or fails.
   */
  async call(found: ConnectorTool, { actor, input }: ConnectorCall, hooks: CallHooks): Promise<RemoteResult> {
    const objection = objectionTo(found);
    if (objection !== undefined) throw new Conflict(objection);
    const [definition] = await this.usable.pinned([found]);
    if (!definition)
      throw new Conflict(`The tool ${found.tool.name} was changed meanwhile; look at it again`);
    await this.requireFitting(definition, input);
    beforeSideEffect();
    const { connector, tool } = found;
    const userId = actor.type === 'user' ? actor.id : null;
    try {
      const result = await this.credentials.with(connector, userId, (credential, credentialId) => {
        const authority = { credential, signal: hooks.signal };
        return this.clients.use(connector, credentialId, authority, async connection => {
          await this.requirePinned(found, connection, authority);
          const request = { name: tool.name, input, schema: definition.inputSchema as never };
          return connection.server.call(request, authority, hooks.onProgress);
        });
      });
      if (connector.fault !== null) await this.connectors.keepFault(connector.id, null);
      return frameResult({ server: connector.name, tool: tool.name }, result);
    } catch (error) {
      hooks.signal.throwIfAborted();
      throw await this.refusal(found, error);
    }
  }

  /** Throws PinBroken, and stores the new definitions, if the server changed the tool. */
  private async requirePinned(
    { connector, tool }: ConnectorTool,
    connection: OpenConnection,
    authority: Authority,
  ): Promise<void> {
    const tools = await connection.tools(authority);
    const said = tools.get(tool.name);
    const pin = pinTool(said);
    if (typeof pin !== 'string' && pin.hash === tool.hash) return;
    await this.sync.keep(connector.id, connection.server.facts, tools);
    throw new PinBroken();
  }

  private async requireFitting({ inputSchema }: ToolDefinition, input: unknown): Promise<void> {
    const faults = await this.findFaults(inputSchema, input);
    if (faults.length > 0) throw new Invalid(`The input does not fit the tool: ${faults.join('; ')}`);
  }

  private async findFaults(inputSchema: object, input: unknown): Promise<string[]> {
    const [schema, value] = [inputSchema, input].map(one => JSON.stringify(one));
    try {
      return await this.workers.patiently<string[]>(CHECK, { schema, value }, CHECK_MS);
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error;
      throw new Invalid('The input could not be checked in time; make it smaller');
    }
  }

  private async refusal(found: ConnectorTool, error: unknown): Promise<unknown> {
    const { connector, tool } = found;
    if (error instanceof PinBroken) {
      const objection = objectionTo({ ...found, tool: { ...tool, state: 'changed' } });
      return new Conflict(objection ?? 'The tool has changed');
    }
    if (!(error instanceof ConnectorFault)) return error;
    const fault = toFault(error);
    const detail = `${connector.name}: ${fault.message}`;
    if (fault.kind === 'refused') return new Conflict(detail);
    if (fault.isTrouble) await this.connectors.keepFault(connector.id, fault.message);
    return new Unavailable(detail);
  }
}
