import Testing
@testable import serialq
