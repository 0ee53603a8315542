import { ById, Field } from '../../../platform/dto/index.js';

const HOST = { min: 3, max: 253, example: 'docs.example.com' } as const;

export class SiteDomain extends ById({ site_id: 'The site' }) {
  @Field.text('The host', HOST) host: string;
}

export class ServerDomain extends ById({ server_id: 'The server' }) {
  @Field.text('The host', HOST) host: string;
}

export class DomainRecordView {
  @Field.choice('Its type', ['TXT']) type: string;
  @Field.text('Its name', { example: '_atelier.docs.example.com' }) name: string;
  @Field.text('What it must hold', { example: 'atelier-verification=q3Vn…' }) value: string;
}

export class DomainView {
  @Field.text('The host', HOST) host: string;

  @Field.choice(
    'pending: its record is yet to be found; verified: it leads here; failed: its record was missing for two weeks, or somebody else has shown that the host is theirs',
    ['pending', 'verified', 'failed'],
  )
  state: string;

  @Field.object('The record that shows whose the host is', () => DomainRecordView) record: DomainRecordView;

  @Field.text('What kept the last check from finding it', {
    nullable: true,
    example: '_atelier.docs.example.com has no TXT record yet',
  })
  problem: string | null;

  @Field.time('When it was last checked', { nullable: true }) checked_at: string | null;
  @Field.time('When it was verified last', { nullable: true }) verified_at: string | null;
}

export class DomainList {
  @Field.object('The hosts', () => DomainView, { list: true }) items: DomainView[];
}

export class RemovedDomainView {
  @Field.text('The host', HOST) host: string;
  @Field.boolean('Always true') removed: boolean;
}
