import { Field } from '../../platform/http/field.js';
import { PageInput, PageOf } from '../../platform/http/page.js';
import { SANDBOX_CALLERS } from './running-sandboxes.js';

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

  @Field.text('What runs in it, shortened', { max: 501, example: 'npm test' })
  command: string;

  @Field.object('For whom it runs', () => SandboxCallerView)
  caller: SandboxCallerView;

  @Field.text('The machine that it runs on', { example: 'worker-1' })
  node: string;

  @Field.time('When it was started')
  started_at: string;
}

export const SandboxPage = PageOf(SandboxView, 'SandboxPage');
