import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Configuration } from '../configuration/configuration.js';
import { poolOptions } from './session.js';
import { DatabaseClock } from './database-clock.js';

@Global()
@Module({
  imports: [TypeOrmModule.forRootAsync({ inject: [Configuration], useFactory: poolOptions })],
  providers: [DatabaseClock],
  exports: [DatabaseClock],
})
export class DatabaseModule {}
