import { Global, Module } from '@nestjs/common';
import { DatabaseClock } from './database-clock.js';

@Global()
@Module({ providers: [DatabaseClock], exports: [DatabaseClock] })
export class DatabaseModule {}
