import { Field } from '../../../platform/dto/index.js';
import { METHODS, type Method } from './request-path.js';

export class IntegrationRequest {
  @Field.id('The connection') id: string;

  @Field.id('The workspace for which it is done; the connection has to be granted to it')
  workspace_id: string;

  @Field.choice('The method', METHODS) method: Method;

  @Field.text('The path below the address of the API, or a whole address of one of its hosts', {
    min: 1,
    max: 2200,
    example: '/user/repos',
  })
  path: string;

  @Field.record('Parameters of the query', { optional: true, example: { per_page: 10 } })
  query?: Record<string, unknown>;

  @Field.record('Headers besides the credential', { optional: true, example: { accept: 'application/json' } })
  headers?: Record<string, unknown>;

  @Field.json('The body: a text is sent as it is, anything else as JSON', {
    optional: true,
    example: { title: 'Hello' },
  })
  body?: unknown;
}

export class IntegrationResponseView {
  @Field.integer('The status that the service answered', { example: 200 }) status: number;
  @Field.record('Its headers') headers: Record<string, string>;
  @Field.json('Its body') body: unknown;
  @Field.choice('How the body is given', ['json', 'text', 'base64']) encoding: 'json' | 'text' | 'base64';
}
