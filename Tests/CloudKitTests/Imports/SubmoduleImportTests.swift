import CloudKit.CKRecord
import CloudKit.CKRecordZone
import CoreLocation.CLLocation
import Testing

/// A file that imports single headers of Apple's frameworks sees all of CloudKit and Foundation.
@Suite(.timeLimit(.minutes(20))) struct SubmoduleImportTests {
    @Test func `a header's import is an import of CloudKit`() {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r"))
        record["place"] = CLLocation(latitude: 1, longitude: 2)
        record["when"] = Date(timeIntervalSinceReferenceDate: 0)
        #expect(record.allKeys() == ["place", "when"])
        #expect(CKRecordZone.default().zoneID.zoneName == CKRecordZone.ID.defaultZoneName)
    }
}
