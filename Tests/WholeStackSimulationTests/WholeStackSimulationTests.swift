import CloudUnderTest
import Foundation
import Testing
