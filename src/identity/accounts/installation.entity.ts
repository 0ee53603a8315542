import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';

/** What exists once per installation. */
@Entity({ tableName: 'installation' })
export class Installation {
  @PrimaryKey({ type: 'int' })
  id = 1;

  /** SHA-256 of the token that the first registration must show; null once it is used, or not needed. */
  @Property({ type: 'text', nullable: true })
  setupTokenHash: string | null = null;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();
}
