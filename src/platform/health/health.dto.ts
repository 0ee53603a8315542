import { Field } from '../dto/index.js';

export class HealthView {
  @Field.choice('Always ok', ['ok']) status: string;
}

export class ReadinessView {
  @Field.choice('Whether requests can be served', ['ready']) status: string;
  @Field.integer('How long the database took to answer, in milliseconds', { example: 1 }) database_ms: number;
}

export class VaultKeyView {
  @Field.text('Name of a key that wraps stored secrets', { example: '3f9a1c07' }) id: string;
  @Field.integer('How many secrets it wraps', { example: 2 }) secrets: number;
}

export class HostingFactsView {
  @Field.text('The domain below which sites and servers have their hosts; null where there is none', {
    nullable: true,
    example: 'example.app',
  })
  domain: string | null;

  @Field.choice(
    'How browsers keep them apart from the service: separate_site (best), same_site (another origin, whose cookies need care) or none (there are no hosts)',
    ['separate_site', 'same_site', 'none'],
    { example: 'separate_site' },
  )
  isolation: string;
}

export class MetadataView {
  @Field.text('The service', { example: 'Atelier' }) name: string;
  @Field.text('Version of the interface description', { example: '0.1.0' }) version: string;
  @Field.choice('What this process serves', ['all', 'api', 'worker', 'gateway']) role: string;
  @Field.choice('Who may register', ['invite', 'open', 'closed']) registration: string;
  @Field.text('Where the interface description is', { example: '/api/openapi.json' }) openapi: string;

  @Field.object('The keys that stored secrets need', () => VaultKeyView, { list: true })
  vault_keys: VaultKeyView[];

  @Field.object('Where sites and servers are', () => HostingFactsView) hosting: HostingFactsView;
}
