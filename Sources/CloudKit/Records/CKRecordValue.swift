import CoreLocation
import Foundation

/// The values that a field of a record can hold (B-REC-01): strings, numbers, dates, data, locations, references,
/// assets and lists.
///
/// Do not adopt the protocol: a value of any other type is refused.
public protocol CKRecordValueProtocol {}

/// The Foundation objects that a record keeps and hands out.
public protocol __CKRecordObjCValue: CKRecordValueProtocol, NSObjectProtocol {}

/// The type of a record's subscripts.
///
/// On Apple's platforms this names only the objects, and `"x" as CKRecordValue` bridges; here it accepts the Swift
/// values too, so that the same code compiles.
public typealias CKRecordValue = CKRecordValueProtocol

extension NSString: __CKRecordObjCValue {}
extension NSNumber: __CKRecordObjCValue {}
extension NSArray: __CKRecordObjCValue {}
extension NSDate: __CKRecordObjCValue {}
extension NSData: __CKRecordObjCValue {}
extension CLLocation: __CKRecordObjCValue {}
extension CKReference: __CKRecordObjCValue {}
extension CKAsset: __CKRecordObjCValue {}

extension String: CKRecordValueProtocol {}
extension Date: CKRecordValueProtocol {}
extension Data: CKRecordValueProtocol {}
extension Bool: CKRecordValueProtocol {}
extension Double: CKRecordValueProtocol {}
extension Float: CKRecordValueProtocol {}
extension Int: CKRecordValueProtocol {}
extension Int8: CKRecordValueProtocol {}
extension Int16: CKRecordValueProtocol {}
extension Int32: CKRecordValueProtocol {}
extension Int64: CKRecordValueProtocol {}
extension UInt: CKRecordValueProtocol {}
extension UInt8: CKRecordValueProtocol {}
extension UInt16: CKRecordValueProtocol {}
extension UInt32: CKRecordValueProtocol {}
extension UInt64: CKRecordValueProtocol {}
extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}
