import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import express, { type Express } from 'express';
import { Configuration } from '../configuration/configuration.js';
import { ServerAdapter } from './server.adapter.js';

it('the prototypes of requests belong to our Express application, even if it is mounted in another one', () => {
  const adapter = new ServerAdapter(new Configuration());
  adapter.initHttpServer();
  const app = adapter.getInstance<Express>();
  const outer = express().enable('trust proxy'); // if requests belonged to it, callers could forge their address
  outer.use('/inner', app);
  expect([app.request.app === app, app.response.app === app]).toEqual([true, true]);
});
