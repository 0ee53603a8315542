import { Module } from '@nestjs/common';
import { CoreModule } from '../core/index.js';
import { StorageMeter, StoredElsewhere } from './storage-meter.js';

/** What workspaces store, measured and paid for. */
@Module({
  imports: [CoreModule],
  providers: [StorageMeter, StoredElsewhere],
  exports: [StoredElsewhere],
})
export class MeteringModule {}
