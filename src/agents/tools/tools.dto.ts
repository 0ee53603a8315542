import { EFFECTS } from '../../platform/access/index.js';
import { Field } from '../../platform/dto/index.js';
import { WorkspaceId } from '../../workspaces/core/index.js';
import { AGENT_NAME } from '../subagents/index.js';

const NAME = { min: 1, max: 64, example: 'bash' };

/** What a session of a caller can be called. */
export const SESSION_NAME = {
  min: 1,
  max: 64,
  pattern: /^[A-Za-z0-9][\w.-]*$/,
  patternHint: 'letters, digits, dots, hyphens and underscores',
  example: 'build',
};

export class RunTool extends WorkspaceId {
  @Field.text('Name of the tool', NAME) tool_name: string;
  @Field.json('What the tool takes, as its input_schema says', { example: { command: 'ls' } }) input: unknown;

  @Field.text(
    'Of bash, bash_output and bash_kill: name of a session of the caller to go on in, or to begin',
    {
      ...SESSION_NAME,
      optional: true,
    },
  )
  session?: string;
}

export class ToolView {
  @Field.text('Name of the tool', NAME) name: string;

  @Field.text('What it does, as a model is told', { example: 'Read a text file of the workspace.' })
  description: string;

  @Field.choice('What it does to the workspace', EFFECTS) effect: string;

  @Field.json('JSON Schema of its input', { example: { type: 'object', properties: {} } })
  input_schema: Record<string, unknown>;

  @Field.boolean('Whether it can be used here, by this caller') available: boolean;
  @Field.text('Why it cannot', { nullable: true, example: null }) reason: string | null;
}

export class ToolImageView {
  @Field.text('Path in the workspace', { max: 4096, example: 'charts/herons.png' }) path: string;
  @Field.text('Of what kind it is', { example: 'image/png' }) media_type: string;
  @Field.text('Its bytes in base64', { max: 10_000_000, example: 'iVBORw0KGgo=' }) data: string;
}

export class ToolRunView {
  @Field.text('What the tool gives back, shortened if it is long', { max: 100_000, example: 'notes\n' })
  output: string;

  @Field.boolean('Whether it failed; output says why', { example: false }) is_error: boolean;

  @Field.object('Images that go with the output', () => ToolImageView, { list: true, optional: true })
  images?: ToolImageView[];

  @Field.integer('Milliseconds it took', { min: 0, example: 42 }) duration_ms: number;

  @Field.boolean('Whether the named session began with this call; null without one', {
    nullable: true,
    example: null,
  })
  new_session: boolean | null;

  @Field.integer('Exit code of a command that has ended by itself; null: it has not, or none was run', {
    nullable: true,
    example: 0,
  })
  exit_code: number | null;

  @Field.text('The folder in which the next command of the session begins; null without one', {
    nullable: true,
    max: 10_000,
    example: '/workspace',
  })
  working_directory: string | null;

  @Field.text('The command in the background that it is about, for bash_output and bash_kill', {
    nullable: true,
    example: null,
  })
  command_id: string | null;
}

export class ListAgentTools extends WorkspaceId {
  @Field.text('As this subagent of the workspace may use them; absent: as the default assistant', {
    ...AGENT_NAME,
    optional: true,
  })
  agent_name?: string;
}

export class AgentToolView extends ToolView {
  @Field.boolean('Whether only agents can call it, and not `POST …/tools/{name}`', { example: false })
  agents_only: boolean;

  @Field.text("The name or glob of the agent's list that allows it; null: no list limits it, or none does", {
    nullable: true,
    example: 'read_*',
  })
  allowed_by: string | null;
}

export class AgentToolListView {
  @Field.object('The tools', () => AgentToolView, { list: true }) items: AgentToolView[];
}
