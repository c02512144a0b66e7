// Code that says only `import CloudKit` expects Foundation and CLLocation to be there, as with Apple's framework.
@_exported import CoreLocation
@_exported import Foundation
