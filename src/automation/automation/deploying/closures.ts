import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { didYouMean } from '#libs/did-you-mean/index.js';
import type { Finding } from '#libs/front-matter/index.js';
import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { ModelSettingsStore, ModelUnusable, ResponseSchemas } from '../../../agents/models/index.js';
import {
  AgentFiles,
  ASSISTANT,
  type PinnedAgent,
  readSubagent,
  type Subagent,
  ToolNames,
} from '../../../agents/subagents/index.js';
import { ActionCatalog, allows } from '../../../platform/actions/index.js';
import { Invalid, NotFound, problemOf } from '../../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspaceFolders } from '../../../workspaces/core/index.js';
import { SecretsStore } from '../../secrets/index.js';
import { AUTOMATION_LIMITS, type AutomationDefinition } from '../file/automation-definition.js';
import { readAutomation, withPlainLineEnds } from '../file/automation-file.js';
import type { Drift, Pinned, PinnedFile } from '../records/automation-states.js';
import type { NewVersion } from '../records/deployments.store.js';
import { ConnectionNamesStore } from './connection-names.store.js';
import { KeyFindings } from './key-findings.js';

/** An automation with all that it goes by, as the files of its workspace have it now. */
export interface Closure {
  readonly pinned: Pinned | null;
  readonly findings: readonly Finding[];
  readonly files: NewVersion['files'];
  /** Changes with any of its files. */
  readonly digest: string;
}

/** Reads automations with the files that they name, and checks what they name beyond files. */
@Injectable()
export class Closures {
  constructor(
    private readonly folders: WorkspaceFolders,
    private readonly agents: AgentFiles,
    private readonly toolNames: ToolNames,
    private readonly catalog: ActionCatalog,
    private readonly models: ModelSettingsStore,
    private readonly schemas: ResponseSchemas,
    private readonly connectionNames: ConnectionNamesStore,
    private readonly secrets: SecretsStore,
  ) {}

  /** 404 where there is no such file. `text` is read instead of the file, where it is given; `actingId` is who it would act for. */
  read(workspace: VisibleWorkspace, path: string, actingId: string, text?: string): Promise<Closure> {
    return this.readNow(workspace, path, { text, actingId });
  }

  /** Without `actingId` it asks for no connections, which are no part of its files, and for nothing outside of the unit of work of its caller. */
  private async readNow(
    workspace: VisibleWorkspace,
    path: string,
    { text, actingId }: { text?: string; actingId?: string } = {},
  ): Promise<Closure> {
    const files = this.folders.open(workspace);
    const content = text === undefined ? await this.fileAt(files, path) : Buffer.from(text);
    const { definition, findings: found, lines } = readAutomation(path, content.toString());
    const parts = [fileOf(path, content)];
    if (!definition) return closureOf(null, found, parts);
    const findings = new KeyFindings(path, lines);
    const agent = await this.agentOf(workspace, files, definition, findings);
    if (agent?.file) parts.push(agent.file);
    const code = await this.codeOf(files, definition, findings);
    if (code?.file) parts.push(code.file);
    if (actingId) {
      await this.checkConnections(workspace, actingId, definition, findings);
      await this.checkSecrets(workspace, definition, findings);
    }
    await this.checkNames(workspace, definition, findings);
    if (parts.reduce((sum, { bytes }) => sum + bytes, 0) > AUTOMATION_LIMITS.closureBytes)
      findings.error(`It has more than ${AUTOMATION_LIMITS.closureBytes} bytes with the files that it names`);
    const all = [...found, ...findings.all];
    const pinned = { definition, agent: agent?.pinned ?? null, code: code?.text ?? null };
    return closureOf(findings.hasErrors ? null : pinned, all, parts);
  }

  /** How the files of an automation stand to the version with this digest. */
  async driftOf(workspace: VisibleWorkspace, path: string, digest: string | undefined): Promise<Drift> {
    try {
      const closure = await this.readNow(workspace, path);
      if (closure.digest === digest) return 'none';
      return closure.pinned === null ? 'invalid' : 'changed';
    } catch (error) {
      const problem = problemOf(error);
      if (problem?.status === 404) return 'missing';
      if (problem && problem.status < 500) return 'invalid';
      throw error;
    }
  }

  /** What a file holds now; undefined where it cannot be read. */
  async textAt(workspace: VisibleWorkspace, path: string): Promise<string | undefined> {
    try {
      return (await this.fileAt(this.folders.open(workspace), path)).toString();
    } catch (error) {
      if (error instanceof NotFound || error instanceof Invalid || error instanceof WorkspaceFsError)
        return undefined;
      throw error;
    }
  }

  private async fileAt(files: WorkspaceFs, path: string): Promise<Buffer> {
    try {
      const { size, type } = await files.stat(path);
      if (type !== 'file') throw new Invalid(`${path} is no file`);
      if (size > AUTOMATION_LIMITS.fileBytes)
        throw new Invalid(`${path} has ${size} bytes; an automation may have ${AUTOMATION_LIMITS.fileBytes}`);
      return await files.readBytes(path, AUTOMATION_LIMITS.fileBytes);
    } catch (error) {
      if (error instanceof WorkspaceFsError && error.code === 'not_found')
        throw new NotFound(`There is no file ${path} in this workspace`);
      throw error;
    }
  }

  private async agentOf(
    workspace: VisibleWorkspace,
    files: WorkspaceFs,
    definition: AutomationDefinition,
    findings: KeyFindings,
  ): Promise<{ pinned: PinnedAgent; file: NewVersion['files'][number] | null } | undefined> {
    const { work, agent: name, limits, model, tools, actions } = definition;
    if (work.kind !== 'agent') return undefined;
    const own = [...tools, ...actions.map(action => `action:${action}`)];
    const assistant = { name: definition.name, description: definition.description, instructions: ASSISTANT };
    if (name === null)
      return { pinned: pinnedOf({ ...assistant, tools: own, model, maxSteps: limits.maxSteps }), file: null };
    const { agents } = await this.agents.inWorkspace(workspace);
    const reading = agents.find(agent => agent.name === name);
    if (!reading?.value) {
      const meant = didYouMean(
        name,
        agents.map(agent => agent.name),
      );
      const fault = reading?.findings.find(({ severity }) => severity === 'error');
      findings.at(
        'agent',
        fault ? `${fault.file}: ${fault.message}` : `no file in .agents/ defines "${name}"`,
        meant && `Did you mean "${meant}"?`,
      );
      return undefined;
    }
    // It is pinned as it is written, and by what was read just now.
    const content = await this.fileAt(files, reading.path);
    const { value } = readSubagent(reading.path, content.toString());
    if (!value) {
      findings.at('agent', `${reading.path} was changed while it was read; try again`);
      return undefined;
    }
    const agent = { ...value, model: model ?? value.model, maxSteps: value.maxSteps };
    return { pinned: pinnedOf(agent), file: fileOf(reading.path, content) };
  }

  private async codeOf(
    files: WorkspaceFs,
    { work }: AutomationDefinition,
    findings: KeyFindings,
  ): Promise<{ text: string; file: NewVersion['files'][number] | null } | undefined> {
    if (work.kind !== 'script') return undefined;
    if (work.file === null) return { text: work.code ?? '', file: null };
    try {
      const content = await this.fileAt(files, work.file);
      return { text: withPlainLineEnds(content.toString()), file: fileOf(work.file, content) };
    } catch (error) {
      if (!(error instanceof NotFound) && !(error instanceof Invalid) && !(error instanceof WorkspaceFsError))
        throw error;
      findings.at('file', error.message);
      return undefined;
    }
  }

  private async checkConnections(
    { id }: VisibleWorkspace,
    actingId: string,
    { connections }: AutomationDefinition,
    findings: KeyFindings,
  ): Promise<void> {
    const granted = connections.length > 0 ? await this.connectionNames.of(id, actingId) : [];
    for (const name of connections) {
      if (granted.includes(name)) continue;
      const meant = didYouMean(name, granted);
      findings.at(
        'connections',
        `this workspace has no connection "${name}"`,
        [
          ...(meant ? [`Did you mean "${meant}"?`] : []),
          `GET /api/integrations?workspace_id=${id} lists those that it may use: name one by its provider or its name`,
        ].join(' '),
      );
    }
  }

  /** A secret may be set after the automation is deployed. */
  private async checkSecrets(
    { id }: VisibleWorkspace,
    { secrets }: AutomationDefinition,
    findings: KeyFindings,
  ): Promise<void> {
    const names = secrets.length > 0 ? await this.secrets.names(id) : [];
    for (const name of secrets) {
      if (names.includes(name)) continue;
      const meant = didYouMean(name, names);
      findings.warnAt(
        'secrets',
        `this workspace has no secret ${name}; runs fail until it is set`,
        meant ? `Did you mean "${meant}"?` : `PUT /api/workspaces/${id}/secrets/${name} sets it`,
      );
    }
  }

  private async checkNames(
    workspace: VisibleWorkspace,
    { tools, actions, model, expect, input }: AutomationDefinition,
    findings: KeyFindings,
  ): Promise<void> {
    const fixed = tools.filter(tool => this.toolNames.isFixed(tool));
    checkAll('tools', 'tool', fixed, this.toolNames.all(), findings);
    const names = this.catalog.list().map(({ name }) => name);
    checkAll('actions', 'action', actions, names, findings);
    if (model !== null)
      try {
        await this.models.resolve(workspace.organization_id, model);
      } catch (error) {
        if (!(error instanceof ModelUnusable)) throw error;
        findings.at('model', error.detail, 'Name another model, or none for the default');
      }
    for (const [key, schema] of [
      ['expect.response_schema', expect.responseSchema],
      ['input', input],
    ] as const)
      if (schema !== undefined)
        try {
          await this.schemas.requireUsable(schema);
        } catch (error) {
          if (!(error instanceof Invalid)) throw error;
          findings.at(key, error.detail.replace(/^response_schema /, ''));
        }
  }
}

function checkAll(
  key: string,
  kind: string,
  patterns: readonly string[],
  names: readonly string[],
  findings: KeyFindings,
): void {
  for (const pattern of patterns) {
    if (names.some(name => allows([pattern], name))) continue;
    const meant = didYouMean(pattern, names);
    findings.at(key, `no ${kind} is called "${pattern}"`, meant && `Did you mean "${meant}"?`);
  }
}

const pinnedOf = (agent: Subagent): PinnedAgent => ({ ...agent, isUnattended: true });

function fileOf(path: string, content: Buffer): PinnedFile & { content: Buffer } {
  return { path, sha256: hash('sha256', content, 'hex'), bytes: content.length, content };
}

function closureOf(pinned: Pinned | null, findings: readonly Finding[], files: NewVersion['files']): Closure {
  const digest = hash('sha256', JSON.stringify(files.map(({ path, sha256 }) => [path, sha256])), 'hex');
  return { pinned, findings, files, digest };
}

export function firstFault(findings: readonly Finding[]): string {
  const fault = findings.find(({ severity }) => severity === 'error');
  if (!fault) return 'The file cannot be used';
  const { file, line, message, suggestion } = fault;
  return `${file}${line === null ? '' : `:${line}`}: ${message}${suggestion ? `. ${suggestion}` : ''}`;
}
