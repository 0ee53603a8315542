import { Module } from '@nestjs/common';
import { NotificationsModule } from './notifications/index.js';

/** What happens without a person at the screen, and who is notified of it. */
@Module({ imports: [NotificationsModule] })
export class AutomationModule {}
