import { Module } from '@nestjs/common';
import { NotificationsModule } from './notifications/index.js';

/** What happens without somebody who sits there, and who is told of it. */
@Module({ imports: [NotificationsModule] })
export class AutomationModule {}
