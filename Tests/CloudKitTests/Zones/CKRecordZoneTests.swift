import CloudKitModel
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct CKRecordZoneTests {
    @Test func `B-ZN-01 a zone is its name and its owner`() {
        let zone = CKRecordZone.ID(zoneName: "z")
        #expect(zone.ownerName == CKCurrentUserDefaultName)
        #expect(zone == CKRecordZone.ID(zoneName: "z", ownerName: CKCurrentUserDefaultName))
        #expect(zone != CKRecordZone.ID(zoneName: "z", ownerName: "_other"))
        #expect(CKRecordZone.ID.default.zoneName == "_defaultZone")
        #expect(CKRecordZone.ID() == .default)
        #expect(CKRecordZone.default().zoneID == .default)
    }

    @Test func `B-ZN-04 a zone made here shows no capabilities`() {
        #expect(CKRecordZone(zoneName: "z").capabilities == [])
        let zone = CKRecordZone(Zone(id: ZoneID(zoneName: "z"), capabilities: .custom))
        #expect(zone.capabilities == [.fetchChanges, .atomic, .sharing, .zoneWideSharing])
        #expect(zone.capabilities.rawValue == 15)
    }

    @Test func `B-ZN-17 zones compare by identity`() throws {
        let zone = CKRecordZone(zoneName: "z")
        #expect(zone != CKRecordZone(zoneName: "z"))
        zone.encryptionScope = .perZone
        let copy = try #require(zone.copy() as? CKRecordZone)
        #expect(copy !== zone)
        #expect(copy.zoneID == zone.zoneID)
        #expect(copy.encryptionScope == .perZone)
    }

    @Test func `IDs pass the edge both ways`() {
        let zone = CKRecordZone.ID(zoneName: "z", ownerName: "_abc")
        #expect(zone.model == ZoneID(zoneName: "z", owner: UserID("_abc")))
        #expect(CKRecordZone.ID(zone.model) == zone)
        #expect(CKRecordZone.ID(ZoneID.default) == .default)
        let record = CKRecord.ID(recordName: "r", zoneID: zone)
        #expect(CKRecord.ID(record.model) == record)
    }
}
