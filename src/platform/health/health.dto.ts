import { Field } from '../dto/index.js';

export class HealthView {
  @Field.choice('Always ok', ['ok'])
  status: string;
}

export class ReadinessView {
  @Field.choice('Whether requests can be served', ['ready'])
  status: string;

  @Field.integer('How long the database took to answer, in milliseconds', { example: 1 })
  database_ms: number;
}

export class VaultKeyView {
  @Field.text('Name of a key that wraps stored secrets', { example: '3f9a1c07' })
  id: string;

  @Field.integer('How many secrets it wraps', { example: 2 })
  secrets: number;
}

export class MetadataView {
  @Field.text('The service', { example: 'Atelier' })
  name: string;

  @Field.text('Version of the interface description', { example: '0.1.0' })
  version: string;

  @Field.choice('What this process serves', ['all', 'api', 'worker'])
  role: string;

  @Field.choice('Who may register', ['invite', 'open', 'closed'])
  registration: string;

  @Field.text('Where the interface description is', { example: '/api/openapi.json' })
  openapi: string;

  @Field.object('The keys that stored secrets need', () => VaultKeyView, { list: true })
  vault_keys: VaultKeyView[];
}
