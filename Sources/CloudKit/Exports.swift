// Code that says only `import CloudKit` expects Foundation and CLLocation to be there, as with Apple's framework.
@_exported import CoreLocation
@_exported import Foundation

// Foundation has classes of these names that cannot be used on Linux. A name that is exported by itself is found before Foundation's,
// also in a file that imports Foundation, in front of CloudKit or behind it.
@_exported import class FoundationPredicates.NSComparisonPredicate
@_exported import class FoundationPredicates.NSExpression
