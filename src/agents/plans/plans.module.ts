import { Module } from '@nestjs/common';
import { PlansStore } from './plans.store.js';

/** What runs mean to do, and how far they are. */
@Module({ providers: [PlansStore], exports: [PlansStore] })
export class PlansModule {}
