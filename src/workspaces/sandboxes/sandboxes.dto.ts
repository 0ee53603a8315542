import { Field, PageInput, PageOf } from '../../platform/dto/index.js';
import { SANDBOX_CALLERS, SANDBOX_KINDS } from './running-sandboxes.store.js';

export class ListSandboxes extends PageInput {
  @Field.id('The workspace')
  workspace_id: string;
}

export class SandboxRef {
  @Field.id('The workspace')
  workspace_id: string;

  @Field.id('The sandbox')
  sandbox_id: string;
}

export class SandboxCallerView {
  @Field.choice(
    'For what it runs: an agent, a person who used a tool, or the service itself',
    SANDBOX_CALLERS,
  )
  kind: string;

  @Field.id('The run, or who used the tool', { nullable: true })
  id: string | null;
}

export class SandboxView {
  @Field.id('The sandbox')
  id: string;

  @Field.choice('One command alone, or a session that lasts over several', SANDBOX_KINDS)
  kind: string;

  @Field.text('Name by which its caller goes on in the session', { nullable: true, example: 'build' })
  name: string | null;

  @Field.text('What runs in it, or was the first to, shortened', { max: 501, example: 'npm test' })
  command: string;

  @Field.object('For whom it runs', () => SandboxCallerView)
  caller: SandboxCallerView;

  @Field.text('The machine that it runs on', { example: 'worker-1' })
  node: string;

  @Field.time('When it was started')
  started_at: string;

  @Field.integer('Bytes of memory that its processes hold', { min: 0, nullable: true, example: 20_971_520 })
  memory_bytes: number | null;

  @Field.integer('Milliseconds of CPU time that its processes have taken', {
    min: 0,
    nullable: true,
    example: 840,
  })
  cpu_ms: number | null;

  @Field.integer('Processes that run in it', { min: 0, nullable: true, example: 3 })
  processes: number | null;
}

export const SandboxPage = PageOf(SandboxView, 'SandboxPage');
