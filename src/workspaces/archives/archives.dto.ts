import { Field } from '../../platform/dto/index.js';
import { WorkspaceId } from '../core/index.js';

export class ExtractArchive extends WorkspaceId {
  @Field.text('The archive: zip, tar or tar.gz', { min: 1, max: 4096, example: 'downloads/archive.zip' })
  path: string;

  @Field.text('The folder to unpack into; empty: the whole workspace', { max: 4096, example: 'unpacked' })
  to: string;
}

export class ExtractedView {
  @Field.text('The folder', { max: 4096, example: 'unpacked' })
  path: string;

  @Field.integer('Files that were written', { example: 12 })
  files: number;

  @Field.integer('Their bytes', { example: 34567 })
  bytes: number;

  @Field.integer('Files that were there already, as the archive has them', { example: 0 })
  unchanged: number;

  @Field.text('Entries that were left out: links and special files; the first 1000 of them', {
    list: true,
    example: [],
  })
  skipped: string[];
}
