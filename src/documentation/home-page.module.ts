import { Module } from '@nestjs/common';
import { HomePageController } from './home-page.controller.js';

/** The home page at `/`. DocumentationModule serves the same page at BASE_PATH. */
@Module({ controllers: [HomePageController] })
export class HomePageModule {}
