import Testing
@testable import SerialPromises
