import { Global, Module } from '@nestjs/common';
import { Leases } from './leases.js';

@Global()
@Module({ providers: [Leases], exports: [Leases] })
export class LeasesModule {}
